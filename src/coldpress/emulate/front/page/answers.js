// An answer as something to look at. What it is shows in its shape, so that this also works for functions that
// nobody described; what has no view of its own is shown as JSON.

import { namesIn } from "./body.js";
import { clipped, count, h, list, score } from "./dom.js";
import { entityView, isAnswer, isEntity, questionView } from "./spans.js";
import { vectorsIn, vectorView } from "./vectors.js";

const FIRST_BARS = 20;

/** {node, said} for an answer, or null where JSON says it best. */
export function viewOf(answer, request, task) {
  const asked = request && typeof request === "object" && !Array.isArray(request) ? request : {};
  const vectors = vectorsIn(answer);
  if (vectors) return vectorView(vectors, asked);
  const ranking = rankingIn(answer, asked);
  if (ranking) return rankingView(ranking);
  if (isAnswer(answer)) return questionView([[answer]], list(asked.question), list(asked.context));
  return Array.isArray(answer) ? listView(answer, asked, task) : null;
}

function listView(answer, asked, task) {
  const single = Array.isArray(answer[0]) ? null : answer;
  const rows = (test) => (single ? (answer.every(test) ? [answer] : null)
    : answer.every((row) => Array.isArray(row) && row.every(test)) ? answer : null);
  if (answer.length === 0) return String(task).startsWith("token") ? entityView([[]], list(asked.text)) : null;

  const answers = rows(isAnswer);
  if (answers && answers.flat().length) {
    // A flat list is several answers to one question, or one answer to each of several.
    const each = single && Array.isArray(asked.question) ? answer.map((one) => [one]) : answers;
    return questionView(each, list(asked.question), list(asked.context));
  }
  const entities = rows(isEntity);
  if (entities && (entities.flat().length || String(task).startsWith("token"))) return entityView(entities, list(asked.text));
  const labels = rows((one) => one?.label !== undefined && typeof one.score === "number");
  if (labels) return labelView(perText(labels, single, asked), asked);
  return fillView(answer, asked);
}

/** Without top_k a list of texts gets a flat list back: the best label of each. */
function perText(labels, single, asked) {
  const texts = asked.text;
  return single && Array.isArray(texts) && texts.length === single.length && !("top_k" in asked)
    ? single.map((one) => [one]) : labels;
}

function labelView(groups, asked) {
  const names = namesIn(asked, groups.length);
  const nodes = groups.map((group, at) => h("div", { class: "group" },
    groups.length > 1 ? h("p", { class: "group-name" }, clipped(names[at], 160)) : null,
    bars(group.map((one) => ({ name: String(one.label), value: one.score })))));
  const best = groups[0]?.[0];
  return { node: h("div", {}, nodes), said: best ? `${clipped(best.label, 60)}, ${score(best.score)}` : "No labels" };
}

/** One gap, several gaps, several texts: lists as deep as that. */
function fillView(answer, asked) {
  const groups = [];
  const walk = (value) => {
    if (!Array.isArray(value) || value.length === 0) return false;
    if (value.every((one) => typeof one?.token_str === "string" && typeof one.score === "number")) return groups.push(value) > 0;
    return value.every(walk);
  };
  if (!walk(answer)) return null;
  const texts = list(asked.text);
  const title = (at) => (texts.length === groups.length ? texts[at] : `Gap ${at + 1}`);
  const nodes = groups.map((group, at) => h("div", { class: "group" },
    groups.length > 1 ? h("p", { class: "group-name" }, clipped(title(at), 160)) : null,
    bars(group.map((one) => ({ name: one.token_str, value: one.score, title: one.sequence })))));
  return { node: h("div", {}, nodes), said: `${clipped(groups[0][0].token_str, 60)}, ${score(groups[0][0].score)}` };
}

/** [{index, value, text}], the best first, from scores in order or from results by rank. */
function rankingIn(answer, asked) {
  const documents = list(asked.documents).map((one) => (typeof one === "string" ? one : one?.text));
  const numbers = (value) => Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "number");
  const isResult = (one) => Number.isInteger(one?.index) && typeof one.relevance_score === "number";
  if (Array.isArray(answer?.results) && answer.results.length && answer.results.every(isResult)) {
    return answer.results.map((one) => ({ index: one.index, value: one.relevance_score, text: one.document?.text ?? documents[one.index] }));
  }
  if (!numbers(answer?.scores) || documents.length !== answer.scores.length) return null;
  return answer.scores.map((value, index) => ({ index, value, text: documents[index] })).sort((a, b) => b.value - a.value);
}

function rankingView(ranked) {
  const rows = ranked.map((one) => ({ name: one.text ?? `Document ${one.index + 1}`, value: one.value, place: one.index + 1 }));
  return { node: bars(rows, true), said: `Best: ${clipped(rows[0].name, 80)}, ${score(rows[0].value)}` };
}

/** Bars, of 1 where the values are probabilities, and of the largest one otherwise. */
function bars(rows, ranked = false) {
  const shares = rows.every((row) => row.value >= 0 && row.value <= 1);
  const most = shares ? 1 : rows.reduce((all, row) => Math.max(all, Math.abs(row.value)), 0) || 1;
  const place = h(ranked ? "ol" : "ul", { class: ranked ? "bars ranked" : "bars" });
  const add = (row, at) => {
    const fill = h("span", { class: row.value < 0 ? "bar-fill below" : "bar-fill" });
    fill.style.width = `${(Math.abs(row.value) / most) * 100}%`;
    place.append(h("li", { title: row.title, "data-best": at === 0 ? "yes" : null },
      h("span", { class: "bar-name" }, clipped(row.name, 400), row.place ? h("span", { class: "soft small-note" }, ` given as ${row.place}`) : null),
      h("span", { class: "figure" }, score(row.value)), h("span", { class: "bar" }, fill)));
  };
  rows.slice(0, FIRST_BARS).forEach(add);
  if (rows.length <= FIRST_BARS) return place;
  const more = h("button", { type: "button", class: "quiet small" }, `Show ${count(rows.length - FIRST_BARS)} more`);
  more.addEventListener("click", () => {
    more.remove();
    rows.slice(FIRST_BARS, 2000).forEach((row) => add(row, -1));
  });
  return h("div", {}, place, more);
}

/** What went wrong, as clearly as the answer tells. */
export function errorView(reply, answer, { signed, known }) {
  const said = answer?.error && typeof answer.error === "object" ? answer.error : {};
  const code = said.code ?? said.type ?? answer?.errorType ?? known?.error;
  const told = [said.message, answer?.errorMessage, answer?.message, answer?.Message, answer?.detail];
  const message = told.find((one) => typeof one === "string") ?? "";
  const advice =
    reply.status === 401 ? "This function asks for a bearer token: write it into the field under the form."
    : reply.status === 403 && signed
      ? "This URL takes only signed requests (AWS_IAM), and a page cannot sign. Ask with a client that does, or serve it with the auth type NONE."
    : reply.status === 429 ? "All sandboxes were busy and the limit on concurrency was reached. Send it again."
    : reply.status >= 500 ? "The logs below may say more." : "";
  return {
    node: h("div", { class: "error", "data-error": reply.status },
      h("p", { class: "error-head" }, h("strong", {}, String(reply.status)), code ? h("code", {}, clipped(code, 200)) : null),
      message ? h("p", {}, clipped(message, 2000)) : null,
      advice ? h("p", { class: "soft" }, advice) : null),
    said: `Error ${reply.status}${message ? `: ${clipped(message, 200)}` : ""}`,
  };
}
