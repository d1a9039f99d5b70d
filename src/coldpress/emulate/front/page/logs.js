// The logs as they come. Lines belong to a request if they name it, or stand between its START and its END in the
// same sandbox; those of the request that somebody looks at are marked.

import { $, clock, count, h, perFrame } from "./dom.js";

const MOST = 1000;
const START = /^START RequestId: (\S+)/;
const REPORT = /^REPORT RequestId: (\S+)/;
const NAMED = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/;

let entries = [];
let waiting = [];
let afresh = true;
let paused = false;
let chosen = null;
let choose = () => {};
const running = new Map();

export function setUpLogs(onChoose) {
  choose = onChoose;
  $("log-filter").addEventListener("input", () => {
    afresh = true;
    soon();
  });
  $("log-pause").addEventListener("click", (event) => {
    paused = !paused;
    event.currentTarget.setAttribute("aria-pressed", String(paused));
    event.currentTarget.textContent = paused ? "Go on" : "Pause";
    afresh = afresh || !paused;
    soon();
  });
  $("log").addEventListener("click", (event) => {
    const line = event.target.closest("[data-request]");
    if (line && String(getSelection()) === "") choose(line.dataset.request);
  });
}

/** Take entries in; `fresh` ones replace all there were. */
export function addLogs(given, fresh) {
  if (fresh) {
    entries = [];
    waiting = [];
    running.clear();
    afresh = true;
  }
  for (const entry of given) {
    const owned = { ...entry, line: String(entry.line), request: ownerOf(entry) };
    entries.push(owned);
    waiting.push(owned);
  }
  if (entries.length > MOST) entries = entries.slice(-MOST);
  if (waiting.length > MOST) waiting = waiting.slice(-MOST);
  soon();
}

export function markLogs(request) {
  chosen = request;
  for (const line of $("log").children) line.classList.toggle("mine", line.dataset.request === chosen && chosen !== null);
}

function ownerOf({ sandbox, line }) {
  const text = String(line);
  const started = START.exec(text)?.[1];
  if (started) running.set(sandbox, started);
  const named = started ?? NAMED.exec(text)?.[0] ?? running.get(sandbox) ?? null;
  // The report is a request's last line.
  if (REPORT.test(text)) running.delete(sandbox);
  return named;
}

const soon = perFrame(draw);

function draw() {
  const place = $("log");
  const wanted = $("log-filter").value.trim().toLowerCase();
  const fits = (entry) => !wanted || entry.line.toLowerCase().includes(wanted) || String(entry.sandbox).includes(wanted)
    || String(entry.request).includes(wanted);
  if (!paused || afresh) {
    const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
    const lines = (afresh ? entries : waiting).filter(fits).map(line);
    if (afresh) place.replaceChildren(...lines);
    else place.append(...lines);
    while (place.children.length > MOST) place.firstChild.remove();
    waiting = [];
    // Only who reads the end is taken along; who scrolled back stays where they are.
    if (atEnd || afresh) place.scrollTop = place.scrollHeight;
    afresh = false;
  }
  const held = paused && waiting.length ? `${count(waiting.length)} new lines wait.` : "";
  $("log-says").textContent = held || (place.children.length ? "" : wanted ? "No line has that." : "Nothing logged yet.");
}

function line(entry) {
  const kind = /^(START|END|REPORT|INIT_START)\b/.test(entry.line) ? "frame" : /error|traceback|exception/i.test(entry.line) ? "bad" : "";
  return h("li", { class: `${kind}${chosen && entry.request === chosen ? " mine" : ""}`, "data-request": entry.request },
    h("time", {}, clock(entry.at)), h("code", { class: "log-box" }, String(entry.sandbox ?? "").slice(0, 4)),
    h("span", { class: "log-line" }, entry.line));
}
