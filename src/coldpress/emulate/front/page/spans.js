// Places in texts: entities, and answers to questions. Functions count characters as Python does, by code point;
// JavaScript counts halves of some, so texts are taken apart before anything is cut out of them.

import { clipped, count, h, score } from "./dom.js";

const MOST_LETTERS = 20_000;
const MOST_SPANS = 500;

/** A text with marks: spans are [{start, end, tag, title, shade}]. */
export function marked(text, spans) {
  const letters = Array.from(text);
  const cut = Math.min(letters.length, MOST_LETTERS);
  const place = h("p", { class: "marked" });
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start).slice(0, MOST_SPANS)) {
    if (span.start < at || span.end <= span.start || span.end > cut) continue; // one inside another: the first stays
    place.append(letters.slice(at, span.start).join(""),
      h("mark", { "data-shade": span.shade ?? 0, title: span.title }, letters.slice(span.start, span.end).join(""),
        span.tag ? h("span", { class: "tag" }, span.tag) : null));
    at = span.end;
  }
  place.append(letters.slice(at, cut).join(""));
  if (cut < letters.length) place.append(h("span", { class: "soft" }, ` … and ${count(letters.length - cut)} more characters`));
  return place;
}

const isPlace = (value) => Number.isInteger(value?.start) && Number.isInteger(value?.end);
export const isEntity = (value) => typeof (value?.entity_group ?? value?.entity) === "string" && typeof value.word === "string";
export const isAnswer = (value) => typeof value?.answer === "string" && typeof value.score === "number";

const tagOf = (entity) => (entity.entity_group ?? entity.entity).replace(/^[BI]-/, "");

export function entityView(perText, texts) {
  const tags = [...new Set(perText.flat().map(tagOf))];
  const found = perText.reduce((all, entities) => all + entities.length, 0);
  const nodes = perText.map((entities, at) => {
    const spans = entities.filter(isPlace).map((entity) => ({
      start: entity.start,
      end: entity.end,
      tag: tagOf(entity),
      title: `${tagOf(entity)} ${score(entity.score)}`,
      shade: tags.indexOf(tagOf(entity)) % 4,
    }));
    return h("div", { class: "entities" },
      typeof texts[at] === "string" ? marked(texts[at], spans) : null,
      entities.length === 0 ? h("p", { class: "soft" }, "Nothing found.")
      : h("ul", { class: "found" }, entities.slice(0, MOST_SPANS).map((entity) => h("li", {},
        h("span", {}, entity.word), h("span", { class: "tag", "data-shade": tags.indexOf(tagOf(entity)) % 4 }, tagOf(entity)),
        h("span", { class: "figure soft" }, score(entity.score))))));
  });
  return { node: h("div", {}, nodes), said: found === 1 ? "1 entity" : `${found} entities` };
}

/** `perQuestion` holds for each question its answers, the best first. */
export function questionView(perQuestion, questions, contexts) {
  const nodes = perQuestion.map((answers, at) => {
    const [best, ...others] = answers;
    const context = contexts.length === 1 ? contexts[0] : contexts[at];
    const spans = isPlace(best) ? [{ start: best.start, end: best.end, title: score(best.score) }] : [];
    return h("div", { class: "question" },
      perQuestion.length > 1 && questions[at] ? h("p", { class: "soft" }, questions[at]) : null,
      h("p", { class: "best" }, best?.answer || "No answer in this text.", best ? h("span", { class: "figure soft" }, score(best.score)) : null),
      typeof context === "string" ? marked(context, spans) : null,
      others.length ? h("ul", { class: "found" }, others.map((one) => h("li", {}, h("span", {}, one.answer || "no answer"),
        h("span", { class: "figure soft" }, score(one.score))))) : null);
  });
  return { node: h("div", {}, nodes), said: clipped(perQuestion[0]?.[0]?.answer || "No answer", 100) };
}
