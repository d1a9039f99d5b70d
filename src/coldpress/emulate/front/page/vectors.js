// Embeddings: each vector as a strip of colours, and how alike several are.

import { namesIn } from "./body.js";
import { clipped, count, h } from "./dom.js";
import { diverging, drawn, inkOn } from "./theme.js";

const MOST_STRIPS = 60;
const MOST_CELLS = 16;
const MOST_COMPARED = 100;
const MOST_TOKENS = 64;
const MOST_LOOKED_AT = 50_000;

/** The rows of numbers in an answer, or null: {embeddings: […]} or OpenAI's {data: [{embedding}]}. */
export function vectorsIn(answer) {
  const found = Array.isArray(answer?.embeddings) ? answer.embeddings
    : Array.isArray(answer?.data) && answer.data.length && answer.data.every((one) => one?.embedding)
      ? answer.data.map((one) => (typeof one.embedding === "string" ? decoded(one.embedding) : one.embedding))
      : null;
  if (!found || found.length === 0) return null;
  if (found.every(isVector)) return found.map((vector) => [vector]);
  return found.every((one) => Array.isArray(one) && one.length && one.every(isVector)) ? found : null;
}

const isVector = (value) =>
  value instanceof Float32Array || (Array.isArray(value) && value.length > 0 && value.every(Number.isFinite));

function decoded(base64) {
  try {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    return new Float32Array(bytes.buffer, 0, bytes.length >> 2);
  } catch {
    return null;
  }
}

/** Strips for all, and a map where several are compared. `groups` holds one row per text, or one per token. */
export function vectorView(groups, request) {
  const names = namesIn(request, groups.length);
  const reach = reachOf(groups);
  const most = groups[0].length > 1 ? MOST_STRIPS / 5 : MOST_STRIPS;
  const strips = groups.slice(0, most).map((rows, at) => strip(rows, names[at], reach, at + 1));
  const compared = groups.length > 1 && groups.every((rows) => rows.length === 1);
  const [first] = groups[0];
  return {
    node: h("div", { class: "vectors" },
      compared ? heatMap(groups.slice(0, MOST_COMPARED).map(([row]) => row), names) : null,
      h("ul", { class: "strips" }, strips),
      groups.length > most ? h("p", { class: "soft" }, `and ${count(groups.length - most)} more`) : null),
    said: `${groups.length} ${groups.length === 1 ? "vector" : "vectors"} of ${first.length} dimensions`,
  };
}

/** What counts as a strong colour: nearly the largest, so that one outlier does not pale the rest. */
function reachOf(groups) {
  const rows = groups.flat().slice(0, Math.ceil(MOST_LOOKED_AT / groups[0][0].length));
  const sizes = rows.flatMap((row) => Array.from(row, Math.abs)).sort((a, b) => a - b);
  return sizes[Math.floor(sizes.length * 0.98)] || 1;
}

function strip(all, name, reach, place) {
  const rows = all.slice(0, MOST_TOKENS);
  const width = rows[0].length;
  const what = all.length > 1 ? `${count(all.length)} × ${count(width)}` : `${count(width)} dimensions, norm ${norm(rows[0]).toFixed(3)}`;
  const canvas = h("canvas", { class: "strip", width, height: rows.length, role: "img", "aria-label": `${clipped(name, 80)}: ${what}` });
  canvas.style.height = `${Math.min(240, Math.max(26, rows.length * 8))}px`;
  drawn(canvas, () => {
    const brush = canvas.getContext("2d");
    const pixels = brush.createImageData(width, rows.length);
    rows.forEach((row, down) => row.forEach((value, across) => {
      pixels.data.set([...diverging(value / reach), 255], (down * width + across) * 4);
    }));
    brush.putImageData(pixels, 0, 0);
  });
  return h("li", {},
    h("span", { class: "strip-name", title: name }, h("span", { class: "heat-number" }, String(place)), name === String(place) ? "" : name),
    h("span", { class: "soft figure" }, what), canvas);
}

const norm = (row) => Math.sqrt(row.reduce((all, value) => all + value * value, 0));

function heatMap(rows, names) {
  const sizes = rows.map(norm);
  const alike = rows.map((a, i) => rows.map((b, j) =>
    a.reduce((all, value, at) => all + value * b[at], 0) / (sizes[i] * sizes[j] || 1)));
  const others = alike.flatMap((row, i) => row.filter((_, j) => i !== j));
  const low = others.reduce((a, b) => Math.min(a, b), 1);
  const high = others.reduce((a, b) => Math.max(a, b), -1);
  // Most models never come near -1, so colours spread over what is there; the figures say what it is.
  const part = (value) => (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 1);
  const says = `Cosine similarity, from ${low.toFixed(2)} to ${high.toFixed(2)}`;
  return h("figure", { class: "heat", "data-heat": rows.length }, h("figcaption", { class: "soft" }, says),
    rows.length <= MOST_CELLS ? cells(alike, names, part) : dots(alike, part, says));
}

function cells(alike, names, part) {
  const cell = (value, i, j) => {
    const made = h("td", { title: `${names[i]}\n${names[j]}\n${value.toFixed(4)}` }, value.toFixed(2).replace(/^(-?)0\./, "$1."));
    if (i === j) made.className = "same";
    else drawn(made, () => {
      const colour = diverging(part(value) * 0.9);
      made.style.backgroundColor = `rgb(${colour})`;
      made.style.color = inkOn(colour);
    });
    return made;
  };
  const head = h("tr", {}, h("td", {}), names.map((name, at) => h("th", { scope: "col", title: name }, String(at + 1))));
  const body = alike.map((row, i) => h("tr", {},
    h("th", { scope: "row", title: names[i] },
      h("span", { class: "heat-number" }, `${i + 1}`), h("span", { class: "heat-name" }, names[i] === `${i + 1}` ? "" : names[i])),
    row.map((value, j) => cell(value, i, j))));
  return h("div", { class: "table-box" }, h("table", {}, h("thead", {}, head), h("tbody", {}, body)));
}

function dots(alike, part, says) {
  const canvas = h("canvas", { class: "heat-canvas", width: alike.length, height: alike.length, role: "img", "aria-label": says });
  drawn(canvas, () => {
    const brush = canvas.getContext("2d");
    const pixels = brush.createImageData(alike.length, alike.length);
    alike.flat().forEach((value, at) => pixels.data.set([...diverging(part(value)), 255], at * 4));
    brush.putImageData(pixels, 0, 0);
  });
  return canvas;
}
