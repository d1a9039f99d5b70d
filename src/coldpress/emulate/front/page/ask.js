// Talking to the function: its document, its answers as they arrive, and the same request for a shell.

const LONGEST_COMMAND = 30_000;

/** The function's OpenAPI document: {document} or {status, reason}, and the id of the request in both. */
export async function readDocument(token) {
  try {
    const reply = await fetch("/openapi.json", { headers: headers(token, false), cache: "no-store" });
    const id = reply.headers.get("x-amzn-requestid");
    if (!reply.ok) return { status: reply.status, reason: `/openapi.json answers ${reply.status}`, id };
    const document = await reply.json();
    if (document === null || typeof document !== "object") throw new TypeError("not an object");
    return { document, id };
  } catch (trouble) {
    const reason = trouble instanceof TypeError ? "/openapi.json cannot be read" : "/openapi.json is not JSON";
    return { status: 0, reason };
  }
}

/**
 * Send a body. `onHead(reply)` hears the status and the headers, `onText(piece, sofar)` every piece of the answer.
 * Gives {status, type, text, bytes, ms, id}.
 */
export async function ask({ path, body, token, signal, onHead = () => {}, onText = () => {} }) {
  const begun = performance.now();
  const reply = await fetch(path, { method: "POST", headers: headers(token, true), body, signal });
  const head = {
    status: reply.status,
    word: reply.statusText,
    type: reply.headers.get("content-type") ?? "",
    id: reply.headers.get("x-amzn-requestid"),
  };
  onHead(head);
  const parts = [];
  let bytes = 0;
  if (reply.body) {
    const reader = reply.body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      const piece = done ? decoder.decode() : decoder.decode(value, { stream: true });
      bytes += value?.length ?? 0;
      if (piece) {
        parts.push(piece);
        onText(piece, bytes);
      }
      if (done) break;
    }
  }
  return { ...head, text: parts.join(""), bytes, ms: performance.now() - begun };
}

function headers(token, json) {
  return {
    ...(json ? { "content-type": "application/json" } : {}),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
}

/** Server-sent events and JSON lines, piece by piece: feed(text) → [{name, data}], whatever is complete. */
export function splitter(type) {
  let rest = "";
  const between = type.startsWith("text/event-stream") ? /\r?\n\r?\n/ : /\r?\n/;
  const read = type.startsWith("text/event-stream") ? event : (line) => ({ name: "message", data: line });
  return (text, last = false) => {
    const blocks = (rest + text).split(between);
    rest = last ? "" : blocks.pop();
    return blocks.filter((block) => block.trim()).map(read).filter((one) => one.data !== "");
  };
}

function event(block) {
  const values = (field) => block.split(/\r?\n/)
    .filter((line) => line.startsWith(`${field}:`))
    .map((line) => line.slice(field.length + 1).replace(/^ /, ""));
  return { name: values("event")[0] ?? "message", data: values("data").join("\n") };
}

export function isStream(type) {
  return type.startsWith("text/event-stream") || type.startsWith("application/x-ndjson");
}

/** A command for a shell: {command, long}. A token is never copied, nor a body that no shell would take. */
export function curl({ path, body, token }) {
  const long = body.length > LONGEST_COMMAND;
  const parts = [
    `curl ${quoted(new URL(path, location.origin).href)}`,
    "-H 'content-type: application/json'",
    ...(token ? ['-H "authorization: Bearer $TOKEN"'] : []),
    `-d ${long ? "@body.json" : quoted(body)}`,
  ];
  return { command: parts.join(" \\\n  "), long };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Copy, also where the page is not on localhost and browsers keep their clipboard to themselves. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "unseen";
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}
