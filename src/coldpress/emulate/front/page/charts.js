// The last requests as two charts: how long they took, and the memory they left their sandbox with.

import { $, clock, count, h, mb, ms, perFrame, svg } from "./dom.js";
import { live } from "./live.js";
import { badge } from "./waterfall.js";

const HEIGHT = 168;
const LEFT = 48;
const EDGE = 12;
const FEWEST = 40; // so that the first requests stand at the right instead of being stretched over all
const RECENT = 8;

let chosen = null;
let choose = () => {};

/** `onChoose(record)` hears which request somebody wants to see. */
export function setUpCharts(onChoose) {
  choose = onChoose;
  const watch = new ResizeObserver(perFrame(drawCharts));
  for (const id of ["latency", "memory"]) {
    watch.observe($(id));
    follow($(id));
  }
}

export function mark(id) {
  chosen = id;
  drawCharts();
}

export function drawCharts() {
  drawLatency();
  drawMemory();
  drawRecent();
}

const right = (width) => width - EDGE;

function across(at, length, width) {
  const step = (right(width) - LEFT - EDGE) / (Math.max(length, FEWEST) - 1);
  return right(width) - EDGE / 2 - (length - 1 - at) * step;
}

function frame(place, ticks, y, says) {
  const width = place.clientWidth || 300;
  const picture = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` });
  for (const [value, words] of ticks) {
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: right(width), y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, words));
  }
  place.setAttribute("aria-label", says);
  place.replaceChildren(picture);
  return { picture, width };
}

/** On a logarithmic scale: a cold start is often a hundred times as long as what follows. */
function drawLatency() {
  const rows = live.requests;
  const values = rows.map((row) => Math.max(0.01, row.total_ms || 0));
  const low = values.length ? Math.floor(Math.log10(Math.min(...values))) : 0;
  const high = values.length ? Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)))) : 2;
  const y = (value) => HEIGHT - EDGE - ((Math.log10(value) - low) / (high - low)) * (HEIGHT - 2 * EDGE);
  const ticks = Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)).map((value) => [value, short(value)]);
  const middle = median(rows.filter((row) => !row.cold).map((row) => row.total_ms));
  const says = rows.length === 0 ? "no requests yet" : `${count(rows.length)} requests${middle === null ? "" : `, warm median ${ms(middle)}`}`;
  $("latency-says").textContent = says;
  const { picture, width } = frame($("latency"), ticks, y, `Latency: ${says}`);
  rows.forEach((row, at) => {
    const [x, top] = [across(at, rows.length, width), y(values[at])];
    const bad = row.error || row.status >= 400;
    const props = { class: `dot ${bad ? "bad" : row.cold ? "cold" : "warm"}${row.id === chosen ? " chosen" : ""}` };
    picture.append(
      bad ? svg("path", { ...props, d: `M${x - 4} ${top - 4}l8 8m0 -8l-8 8` })
      : row.cold ? svg("path", { ...props, d: `M${x} ${top - 6}l6 6l-6 6l-6 -6z` })
      : svg("circle", { ...props, cx: x, cy: top, r: 3.2 }));
  });
}

function drawMemory() {
  const rows = live.requests;
  const known = rows.map((row) => row.memory_mb).filter(Number.isFinite);
  const most = niceAbove(Math.max(1, ...known));
  const y = (value) => HEIGHT - EDGE - (value / most) * (HEIGHT - 2 * EDGE);
  const limit = live.function?.memory_mb;
  const says = known.length === 0 ? (limit ? `limit ${mb(limit)}` : "") : `now ${mb(known.at(-1))}${limit ? ` of ${mb(limit)}` : ""}`;
  $("memory-says").textContent = says;
  const { picture, width } = frame($("memory"), [0, most / 2, most].map((value) => [value, `${count(value)} MB`]), y, `Memory: ${says}`);
  const points = rows.map((row, at) => [across(at, rows.length, width), row.memory_mb]).filter(([, value]) => Number.isFinite(value))
    .map(([x, value]) => [x, y(value)]);
  if (points.length === 0) return;
  const path = `M${points.map((point) => point.join(" ")).join("L")}`;
  picture.append(
    svg("path", { class: "area", d: `${path}L${points.at(-1)[0]} ${y(0)}L${points[0][0]} ${y(0)}z` }),
    svg("path", { class: "line", d: path }),
    svg("circle", { class: "dot warm", cx: points.at(-1)[0], cy: points.at(-1)[1], r: 3.2 }));
}

function drawRecent() {
  const rows = live.requests.slice(-RECENT).reverse();
  const place = $("recent").tBodies[0];
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.request : null;
  place.replaceChildren(...rows.map((row) => h("tr", { class: row.id === chosen ? "chosen" : null },
    h("td", {}, rowButton(row)),
    h("td", { class: row.status >= 400 ? "bad" : "" }, String(row.status ?? "–")),
    h("td", {}, row.cold ? badge({ ...row, status: 200, error: null }) : h("span", { class: "soft" }, "warm")),
    h("td", { class: "n" }, ms(row.total_ms)),
    h("td", { class: "n" }, typeof row.billed_ms === "number" ? `${row.billed_ms} ms` : "–"),
    h("td", { class: "n memory-column" }, mb(row.memory_mb)))));
  if (rows.length === 0) place.append(h("tr", {}, h("td", { colspan: 6, class: "soft" }, "No requests yet.")));
  if (focused) place.querySelector(`[data-request="${CSS.escape(focused)}"]`)?.focus();
}

function rowButton(row) {
  const props = { type: "button", class: "row-button figure", "data-request": row.id, "aria-pressed": String(row.id === chosen) };
  return h("button", { ...props, onclick: () => choose(row) }, clock(row.at).slice(0, 8));
}

/** Says what is under the pointer, and chooses it when pressed. */
function follow(place) {
  const says = $(`${place.id}-says`);
  const nearest = (event) => {
    const x = event.clientX - place.getBoundingClientRect().left;
    const distance = (at) => Math.abs(across(at, live.requests.length, place.clientWidth) - x);
    const best = live.requests.reduce((found, _, at) => (found < 0 || distance(at) < distance(found) ? at : found), -1);
    return live.requests[best];
  };
  place.addEventListener("pointermove", (event) => {
    const row = nearest(event);
    if (row) says.textContent = `${clock(row.at)}  ${ms(row.total_ms)}  ${mb(row.memory_mb)}${row.cold ? "  cold" : ""}`;
  });
  place.addEventListener("pointerleave", drawCharts);
  place.addEventListener("click", (event) => {
    const row = nearest(event);
    if (row) choose(row);
  });
}

const short = (value) => (value >= 1000 ? `${value / 1000} s` : `${value} ms`);

function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : null;
}

function niceAbove(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * unit).find((step) => step >= value * 1.05) ?? 20 * unit;
}
