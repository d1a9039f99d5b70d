// The answer's side of the page: what arrives while it arrives, what it is when it is whole.

import { $, bytes, clipped, h, ms, tabs } from "./dom.js";
import { errorView, viewOf } from "./answers.js";
import { isStream, splitter } from "./ask.js";
import { plain, printed } from "./raw.js";

const MOST_PIECES = 1000;
let chooseTab = () => {};

export function setUpResult() {
  chooseTab = tabs($("answer-tabs"));
}

function state(word) {
  $("answer").dataset.state = word;
  $("answer").setAttribute("aria-busy", String(word === "waiting" || word === "streaming"));
}

export function waiting() {
  // What was answered before stays, faded, until the next comes: a page that collapses and grows again is no rest.
  const before = $("answer").dataset.state === "done";
  state("waiting");
  $("waterfall").setAttribute("aria-busy", "true");
  $("answer-meta").replaceChildren(h("span", { class: "pulse" }, "waiting"));
  if (before) return;
  $("answer-tabs").hidden = true;
  chooseTab("tab-view");
  $("answer").replaceChildren(h("p", { class: "soft empty" }, "Waiting for the answer"));
}

/** Shows a reply's text as it comes: {head, text} to be called by whoever reads it. */
export function arriving() {
  const place = h("div", { class: "stream" });
  let show = () => {};
  return {
    head(reply) {
      const stream = isStream(reply.type);
      if (!stream && !reply.type.startsWith("text/")) {
        show = (_, sofar) => { $("answer-meta").textContent = bytes(sofar); };
        return;
      }
      state("streaming");
      $("answer-tabs").hidden = true;
      chooseTab("tab-view");
      $("answer").replaceChildren(place);
      show = stream ? pieces(place, splitter(reply.type)) : (piece) => {
        if (place.textContent.length < 100_000) place.append(piece);
      };
    },
    text: (piece, sofar) => show(piece, sofar),
  };
}

/** Texts flow on, anything else gets a line of its own. */
function pieces(place, split) {
  return (text) => {
    for (const { name, data } of split(text)) {
      if (place.children.length > MOST_PIECES) return;
      const value = json(data);
      place.append(h("span", { class: name === "error" ? "piece bad" : typeof value === "string" ? "piece" : "piece line" },
        clipped(typeof value === "string" ? value : data, 4000)));
    }
  };
}

/** A whole reply. `context` is {request, task, signed, known}. */
export function finished(reply, context) {
  $("answer-meta").replaceChildren(
    h("span", { class: reply.status < 400 ? "badge plain" : "badge bad" }, `${reply.status} ${reply.word}`.trim()),
    ` ${ms(reply.ms)} · ${bytes(reply.bytes)}`);
  const failed = reply.status >= 400;
  const stream = isStream(reply.type);
  const answer = stream ? undefined : json(reply.text);
  const view = failed ? errorView(reply, answer, context)
    : stream ? { node: null, said: "The stream has ended" }
    : answer === undefined ? null : viewOf(answer, context.request, context.task);
  $("answer-raw").replaceChildren(answer === undefined ? plain(reply.text || "(nothing)") : printed(answer));
  if (view?.node) $("answer").replaceChildren(view.node);
  else if (!stream) $("answer").replaceChildren(answer === undefined ? plain(reply.text || "(nothing)") : printed(answer));
  else if ($("answer").textContent === "") $("answer").replaceChildren(h("p", { class: "soft" }, "The stream was empty."));
  $("answer-tabs").hidden = !view;
  if (!view) chooseTab("tab-view");
  $("said").textContent = view?.said ?? `Answer: ${bytes(reply.bytes)}`;
  state(failed ? "error" : "done");
}

/** No reply at all. */
export function broken(message) {
  $("answer-tabs").hidden = true;
  chooseTab("tab-view");
  $("answer-meta").textContent = "";
  $("answer").replaceChildren(h("div", { class: "error", "data-error": "none" },
    h("p", { class: "error-head" }, h("strong", {}, "No answer")), h("p", {}, message)));
  $("said").textContent = message;
  state("error");
}

function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
