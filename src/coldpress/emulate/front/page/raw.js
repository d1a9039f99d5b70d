// An answer as it is, printed so that megabytes of numbers do not stop the browser: long lists, long texts and deep
// places are folded, and unfold a piece at a time.

import { count, h } from "./dom.js";

const FIRST = 8;
const MORE = 200;
const LONG_TEXT = 600;
const MORE_TEXT = 20_000;
const DEEP = 8;

/** A <pre> with a JSON value. */
export function printed(value) {
  const place = h("pre", { class: "json", tabindex: "0" });
  print(place, value, "", 0);
  return place;
}

/** A <pre> with any text. */
export function plain(text) {
  const place = h("pre", { class: "json", tabindex: "0" });
  letters(place, text, MORE_TEXT);
  return place;
}

function print(place, value, indent, depth) {
  if (Array.isArray(value)) return items(place, value, indent, depth);
  if (value && typeof value === "object") return members(place, value, indent, depth);
  if (typeof value !== "string") return place.append(h("span", { class: `json-${value === null ? "null" : typeof value}` }, String(value)));
  const quoted = h("span", { class: "json-string" });
  letters(quoted, JSON.stringify(value), LONG_TEXT);
  return place.append(quoted);
}

function items(place, value, indent, depth) {
  if (value.length === 0) return place.append("[]");
  if (depth >= DEEP) return folded(place, `[ ${count(value.length)} ]`, () => items(place, value, indent, 0));
  // Numbers read best side by side, anything else below each other.
  const flat = value.every((one) => one === null || typeof one !== "object") && typeof value[0] !== "string";
  const inner = flat ? " " : `\n${indent}  `;
  place.append(flat ? "[" : `[${inner}`);
  const rows = h("span");
  place.append(rows, flat ? "]" : `\n${indent}]`);
  return gradually(rows, value.length, (part, at) => {
    if (at) part.append(flat ? ", " : `,${inner}`);
    print(part, value[at], `${indent}  `, depth + 1);
  }, inner);
}

function members(place, value, indent, depth) {
  const names = Object.keys(value);
  if (names.length === 0) return place.append("{}");
  if (depth >= DEEP) return folded(place, `{ ${count(names.length)} }`, () => members(place, value, indent, 0));
  const inner = `\n${indent}  `;
  place.append(`{${inner}`);
  const rows = h("span");
  place.append(rows, `\n${indent}}`);
  return gradually(rows, names.length, (part, at) => {
    if (at) part.append(`,${inner}`);
    part.append(h("span", { class: "json-name" }, JSON.stringify(names[at])), ": ");
    print(part, value[names[at]], `${indent}  `, depth + 1);
  }, inner, 100);
}

/** The first few of many, and a button for the next. */
function gradually(rows, length, add, before, first = FIRST) {
  let at = 0;
  const go = (most) => {
    const end = length <= at + most + 2 ? length : at + most;
    for (; at < end; at += 1) add(rows, at);
    if (at < length) folded(rows, `… ${count(length - at)} more`, () => go(MORE), before);
  };
  go(first);
}

function letters(place, text, most) {
  let at = 0;
  const go = (step) => {
    place.append(text.slice(at, at + step));
    at += step;
    if (at < text.length) folded(place, `… ${count(text.length - at)} more characters`, () => go(MORE_TEXT));
  };
  go(most);
}

function folded(place, words, open, before = "") {
  const gap = document.createTextNode(before);
  const button = h("button", { type: "button", class: "fold" }, words);
  button.addEventListener("click", () => {
    gap.remove();
    button.remove();
    open();
  });
  place.append(gap, button);
}
