// Puts the page together: the form on one side, the answer on the other, and what the server tells below.

import { $, bytes, count, h, mb, ms, perFrame, tabs } from "./dom.js";
import { ask, copied, curl, readDocument } from "./ask.js";
import { parsed, wire, written } from "./body.js";
import { drawCharts, mark, setUpCharts } from "./charts.js";
import { examplesFor, guessedTask } from "./examples.js";
import { makeForm } from "./form.js";
import { BUSY_SHOWN, listen, live } from "./live.js";
import { addLogs, markLogs, setUpLogs } from "./logs.js";
import { arriving, broken, finished, setUpResult, waiting } from "./result.js";
import { drawSandboxes, drawTotals, drawWorld } from "./sandboxes.js";
import { operations } from "./schema.js";
import { setUpTheme } from "./theme.js";
import { drawWaterfall, NOT_KEPT } from "./waterfall.js";

const LAMBDA_TAKES = 6 * 1024 * 1024;
const AT_ONCE = 5; // browsers open six connections to a host, and the page listens on one

const page = { operations: [], operation: { path: "/", schema: {} }, description: "", form: null, edited: false, asked: null, abort: null };
let chooseBodyTab = () => {};

const editor = () => $("body-json");
const token = () => $("token").value.trim();
const task = () => live.function?.task ?? guessedTask(page.form?.fields);

/* ---- the request ---- */

async function loadDocument() {
  const before = page.edited ? parsed(editor().value).value : undefined;
  const { document: found, status, reason, id } = await readDocument(token());
  page.operations = found ? operations(found) : [];
  page.description = typeof found?.info?.description === "string" ? found.info.description : "";
  const signed = status === 403 && live.function?.url_auth === "AWS_IAM";
  $("summary").textContent = found ? page.description
    : status === 401 ? "This function asks for a bearer token."
    : signed ? "This function's URL takes only signed requests (AWS_IAM), and a page cannot sign: requests from here get 403."
    : `${reason}, so here is the plain body.`;
  if (status === 401) $("token-box").open = true;
  $("path").replaceChildren(...page.operations.map((one) => h("option", { value: one.path }, `POST ${one.path}`)));
  $("path-box").hidden = page.operations.length < 2;
  takeOperation(page.operations[0] ?? { path: "/", schema: {} });
  if (before !== undefined) takeBody(before); // a token that comes late must not cost what was written
  if (id && !page.asked) watch(id, "the page asked for /openapi.json");
}

function takeOperation(operation) {
  page.operation = operation;
  page.form = makeForm($("form"), operation.schema, fromForm);
  $("tab-form").parentElement.hidden = !page.form;
  chooseBodyTab(page.form ? "tab-form" : "tab-json");
  const examples = examplesFor(task(), operation.path, page.description);
  $("examples").replaceChildren(...examples.map(({ name, body }) =>
    h("button", { type: "button", class: "chip", "data-example": name, onclick: () => takeBody(typeof body === "function" ? body() : body) }, name)));
  const first = examples[0]?.body;
  takeBody(first === undefined ? (page.form?.get() ?? {}) : typeof first === "function" ? first() : first);
}

function takeBody(body) {
  editor().value = written(body);
  page.form?.set(body);
  problems();
}

function fromForm() {
  page.edited = true;
  editor().value = written(page.form.get());
  problems();
}

function fromEditor() {
  page.edited = true;
  const { value, problem } = parsed(editor().value);
  if (problem === undefined) page.form?.set(value);
  problems();
}

function problems() {
  const { problem } = parsed(editor().value);
  const size = wire(editor().value).length;
  $("body-problem").textContent = problem !== undefined ? `Not JSON yet: ${problem}`
    : size > LAMBDA_TAKES ? `This body has ${bytes(size)}; Lambda takes 6 MB.` : "";
}

/* ---- the answer ---- */

async function send() {
  if (page.abort) return page.abort.abort();
  page.abort = new AbortController();
  const many = Number($("times").value);
  const text = editor().value;
  const request = { path: page.operation.path, body: wire(text), token: token(), signal: page.abort.signal };
  $("send").dataset.state = "busy";
  $("send-word").textContent = "Stop";
  $("note").textContent = "";
  waiting();
  if (matchMedia("(max-width: 860px)").matches) $("result").scrollIntoView(); // the answer stands below the form there
  try {
    const shown = arriving();
    const first = ask({ ...request, onHead: (head) => { if (head.id) watch(head.id); shown.head(head); }, onText: shown.text });
    const rest = many > 1 ? repeated(request, many - 1) : null;
    const reply = await first;
    const signed = live.function?.url_auth === "AWS_IAM";
    finished(reply, { request: parsed(text).value, task: task(), signed, known: live.byId.get(reply.id) });
    if (reply.status === 401) $("token-box").open = true;
    if (rest) await rest;
  } catch (trouble) {
    if (trouble.name !== "AbortError") broken("The server did not answer. Is it still running?");
    else if ($("answer").getAttribute("aria-busy") === "true") broken("Stopped.");
  } finally {
    page.abort = null;
    $("waterfall").setAttribute("aria-busy", "false");
    $("send").dataset.state = "ready";
    $("send-word").textContent = "Send";
  }
}

/** The same again and again, to see sandboxes come and go. */
async function repeated(request, times) {
  const took = [];
  let left = times;
  let failed = 0;
  const worker = async () => {
    while (left > 0 && !request.signal.aborted) {
      left -= 1;
      const reply = await ask(request);
      took.push(reply.ms);
      failed += reply.status >= 400;
      $("note").textContent = `${count(took.length + 1)} of ${count(times + 1)} sent`;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE - 1, times) }, worker));
  took.sort((a, b) => a - b);
  const trouble = failed ? `, ${count(failed)} failed` : "";
  $("note").textContent = `${count(took.length + 1)} sent, up to ${AT_ONCE} at a time: median ${ms(took[took.length >> 1])}${trouble}`;
}

/** Show a request's waterfall now or when its record comes, and mark it everywhere. */
function watch(id, title = "", missing = undefined) {
  page.asked = { id, title };
  $("waterfall").hidden = false;
  $("waterfall").dataset.request = id;
  $("waterfall").setAttribute("aria-busy", String(!live.byId.has(id) && page.abort !== null));
  drawWaterfall($("waterfall-body"), live.byId.get(id), title, missing);
  mark(id);
  markLogs(id);
}

async function copyCurl() {
  const body = wire(editor().value);
  const { command, long } = curl({ path: page.operation.path, body, token: token() });
  const done = await copied(command);
  $("note").textContent = !done ? "The browser does not let this page copy."
    : long ? "Copied. The body is long: save it as body.json beside it." : "Copied.";
  $("save-body").hidden = !long;
  if (long) {
    URL.revokeObjectURL($("save-body").href);
    $("save-body").href = URL.createObjectURL(new Blob([body], { type: "application/json" }));
  }
}

/* ---- the function ---- */

function drawFunction() {
  const it = live.function ?? {};
  $("function-name").textContent = it.name ?? "coldpress";
  document.title = it.name ? `${it.name} · coldpress serve` : "coldpress serve";
  const provisioned = it.provisioned ? `${count(it.provisioned)} provisioned` : null;
  const facts = [it.task, it.engine, it.memory_mb && mb(it.memory_mb), it.arch, it.timeout_s && `${it.timeout_s} s timeout`,
    it.concurrency && `up to ${count(it.concurrency)} sandboxes`, provisioned, it.package === "image" ? "image" : null,
    it.streaming ? "streams" : null, it.url_auth === "AWS_IAM" ? "signed requests only" : null];
  $("facts").replaceChildren(...facts.filter(Boolean).map((fact) => h("span", {}, String(fact))));
}

function setUp() {
  setUpTheme();
  setUpResult();
  chooseBodyTab = tabs($("tab-form").parentElement);
  const drawLive = perFrame(() => { drawFunction(); drawTotals(); drawSandboxes(); });
  const drawRequests = perFrame(drawCharts);
  let served = null;
  setUpCharts((record) => watch(record.id));
  setUpLogs((id) => watch(id, "", NOT_KEPT));
  listen({
    connection: (word) => {
      $("connection").dataset.connection = word;
      $("connection").textContent = word === "lost" ? "connection lost, trying again" : word;
    },
    hello() {
      drawLive();
      drawWorld();
      drawRequests();
      if (page.asked && live.byId.has(page.asked.id)) watch(page.asked.id, page.asked.title);
      // The server may come back with another function.
      const now = JSON.stringify([live.function?.name, live.function?.task]);
      if (now !== served) loadDocument();
      served = now;
    },
    state: drawLive,
    request(record) {
      drawRequests();
      drawSandboxes();
      setTimeout(drawSandboxes, BUSY_SHOWN + 20);
      if (record.id === page.asked?.id) watch(record.id, page.asked.title);
    },
    log: addLogs,
  });
  $("send").addEventListener("click", send);
  $("copy-curl").addEventListener("click", copyCurl);
  $("form").addEventListener("submit", (event) => { event.preventDefault(); send(); });
  $("path").addEventListener("change", () => takeOperation(page.operations.find((one) => one.path === $("path").value)));
  $("token").addEventListener("change", () => { if (!page.operations.length) loadDocument(); });
  editor().addEventListener("input", fromEditor);
  if (/Mac|iP(hone|ad)/.test(navigator.platform)) $("send-keys").textContent = "⌘ ↵";
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!page.abort) send();
  });
}

setUp();
