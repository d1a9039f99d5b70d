// The request's body as text that a person can edit. Files in it are megabytes of base64, and a text area that holds
// them crawls: they are shown by name, and put back when the body is read.

import { bytes, list } from "./dom.js";

const LONG = 2000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const byName = new Map();
const names = new Map();

/** Give a file's base64 a name, under which it is shown. */
export function remember(base64, name) {
  if (names.has(base64)) return names.get(base64);
  const size = bytes(Math.floor((base64.length * 3) / 4));
  let shown = `‹${name}, ${size}›`;
  for (let copy = 2; byName.has(shown); copy += 1) shown = `‹${name} (${copy}), ${size}›`;
  byName.set(shown, base64);
  names.set(base64, shown);
  return shown;
}

/** The name of a file as it was dropped, without its size. */
export function nameOf(base64) {
  return names.get(base64)?.replace(/^‹|, [^,]*›$/g, "");
}

/** What each input of a request is called: a text by itself, a file by its name. */
export function namesIn(request, length) {
  const given = list(request?.text ?? request?.input ?? request?.image ?? request?.audio);
  return Array.from({ length }, (_, at) => {
    const name = typeof given[at] === "string" ? (nameOf(given[at]) ?? given[at]) : "";
    return name && !isFile(name) ? name : `${at + 1}`;
  });
}

/** JSON for people: indented, short lists in one line, files by name. */
export function written(body) {
  const shown = (value) => (typeof value === "string" && isFile(value) ? remember(value, "file") : value);
  return lines(body, shown, "");
}

function lines(value, shown, indent) {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0 || value.every((one) => typeof one === "number")) return `[${value.join(", ")}]`;
    return `[\n${value.map((one) => inner + lines(one, shown, inner)).join(",\n")}\n${indent}]`;
  }
  if (value && typeof value === "object") {
    const parts = Object.entries(value).filter(([, one]) => one !== undefined);
    if (parts.length === 0) return "{}";
    const rows = parts.map(([name, one]) => `${inner}${JSON.stringify(name)}: ${lines(one, shown, inner)}`);
    return `{\n${rows.join(",\n")}\n${indent}}`;
  }
  return JSON.stringify(shown(value));
}

/** What the text says, files put back: {value} or {problem}. */
export function parsed(text) {
  try {
    return { value: JSON.parse(text, (_, value) => (typeof value === "string" ? (byName.get(value) ?? value) : value)) };
  } catch (trouble) {
    return { problem: trouble.message };
  }
}

/** What goes over the wire; text that is not JSON goes as it stands, and the function says what it thinks of it. */
export function wire(text) {
  const { value, problem } = parsed(text);
  return problem === undefined ? JSON.stringify(value) : text;
}

function isFile(text) {
  return text.length > LONG && (names.has(text) || BASE64.test(text));
}
