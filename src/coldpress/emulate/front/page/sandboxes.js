// Totals, sandboxes and what holds here. A sandbox is a glass: juice in it while it is warm, ice while it is frozen.

import { $, count, dollars, h, mb, ms, svg } from "./dom.js";
import { live } from "./live.js";

const MOST_TILES = 40;
const MOST_ENDED = 2;
const STATES = { starting: "starting", busy: "busy", idle: "idle", frozen: "frozen", ended: "ended" };
const tiles = new Map();

export function drawTotals() {
  const totals = live.totals;
  const each = totals.requests ? (totals.cost_usd / totals.requests) * 1e6 : null;
  const rows = [
    ["requests", "Requests", count(totals.requests)],
    ["errors", "Errors", count(totals.errors)],
    ["throttled", "Throttled", count(totals.throttled)],
    ["cold_starts", "Cold starts", count(totals.cold_starts)],
    ["billed_ms", "Billed", typeof totals.billed_ms === "number" ? `${count(totals.billed_ms)} ms` : "–"],
    ["cost_usd", "Cost so far", dollars(totals.cost_usd)],
    ["million", "A million like these", dollars(each)],
  ];
  const place = $("totals");
  if (!place.children.length) {
    place.append(...rows.map(([key, name]) => h("div", { "data-total": key }, h("dt", {}, name), h("dd", {}))));
  }
  rows.forEach(([key, , value], at) => {
    const shown = place.children[at];
    shown.lastChild.textContent = value;
    shown.classList.toggle("bad", (key === "errors" || key === "throttled") && totals[key] > 0);
  });
}

export function drawSandboxes() {
  const running = live.sandboxes.filter((one) => one.state !== "ended");
  const ended = live.sandboxes.filter((one) => one.state === "ended");
  const shown = [...running.slice(0, MOST_TILES), ...ended.slice(-MOST_ENDED)];
  const place = $("sandboxes");
  // Tiles stay the same elements, so that a change of state moves instead of flickering.
  for (const [id, tile] of tiles) {
    if (!shown.some((one) => one.id === id)) {
      tile.element.remove();
      tiles.delete(id);
    }
  }
  for (const one of shown) {
    if (!tiles.has(one.id)) tiles.set(one.id, makeTile(one));
    const tile = tiles.get(one.id);
    fillTile(tile, one);
  }
  // A tile that is moved without need would begin its motion anew.
  shown.forEach((one, at) => {
    const { element } = tiles.get(one.id);
    if (place.children[at] !== element) place.insertBefore(element, place.children[at] ?? null);
  });
  const hidden = live.sandboxes.length - shown.length;
  const words = live.sandboxes.length === 0 ? "None yet. The first request starts one." : hidden > 0 ? `and ${count(hidden)} more` : "";
  place.querySelector(".none")?.remove();
  if (words) place.append(h("li", { class: "none soft" }, words));
}

function makeTile(one) {
  const parts = {
    state: h("span", { class: "state" }),
    kind: h("span", { class: "badge plain" }),
    count: h("dd", {}),
    init: h("dd", {}),
    memory: h("dd", {}),
    level: h("span", { class: "level-fill" }),
    peak: h("span", { class: "level-peak" }),
  };
  const fact = (name, value) => h("div", {}, h("dt", {}, name), value);
  const element = h("li", { class: "tile", "data-sandbox": one.id },
    glass(),
    h("div", { class: "tile-words" },
      h("p", { class: "tile-head" }, parts.state, h("code", {}, String(one.id).slice(0, 8)), parts.kind),
      h("dl", {}, fact("requests", parts.count), fact("init", parts.init), fact("memory", parts.memory)),
      h("span", { class: "level", "aria-hidden": "true" }, parts.level, parts.peak)));
  return { element, parts };
}

function fillTile({ element, parts }, one) {
  const state = performance.now() < live.busyUntil.get(one.id) ? "busy" : one.state;
  element.dataset.state = state;
  parts.state.textContent = STATES[state] ?? String(state);
  parts.kind.textContent = { "provisioned-concurrency": "provisioned", "snap-start": "SnapStart" }[one.type] ?? "";
  parts.kind.hidden = parts.kind.textContent === "";
  parts.count.textContent = count(one.invocations);
  parts.init.textContent = one.init_ms === null || one.init_ms === undefined ? "–" : ms(one.init_ms);
  const limit = live.function?.memory_mb;
  parts.memory.textContent = mb(one.memory_mb);
  element.title = `Peak ${mb(one.peak_mb)} of ${mb(limit)}`;
  parts.level.style.width = `${share(one.memory_mb, limit)}%`;
  parts.peak.style.left = `${share(one.peak_mb, limit)}%`;
}

const share = (part, all) => Math.min(100, ((part || 0) / (all || 1)) * 100);

function glass() {
  const bubble = (x, y) => svg("circle", { class: "bubble", cx: x, cy: y, r: 1.6 });
  const cube = (x, y, turn) => svg("rect", { class: "cube", x, y, width: 9, height: 9, rx: 2, transform: `rotate(${turn} ${x + 4.5} ${y + 4.5})` });
  return svg("svg", { class: "glass", viewBox: "0 0 44 60", "aria-hidden": "true" },
    svg("path", { class: "straw", d: "M25 44 L32 4 l6 -2" }),
    svg("path", { class: "juice", d: "M9.3 24 q6.3 -3 12.7 0 t12.7 0 L32 52 a4 4 0 0 1 -4 3.6 h-12 a4 4 0 0 1 -4 -3.6 z" }),
    svg("g", { class: "cubes" }, cube(12, 22, -14), cube(22, 24, 18), cube(16, 34, 8)),
    svg("g", { class: "bubbles" }, bubble(17, 48), bubble(23, 44), bubble(27, 50)),
    svg("path", { class: "drop-shape", d: "M22 8 q-3.5 5 0 7 q3.5 -2 0 -7z" }),
    svg("path", { class: "rim", d: "M7.5 10 L12 52 a4 4 0 0 0 4 3.6 h12 a4 4 0 0 0 4 -3.6 L36.5 10" }));
}

export function drawWorld() {
  $("world").replaceChildren(...live.world.map((one) => h("li", { "data-enforced": one.enforced ? "yes" : "no" },
    h("span", { class: "sign", "aria-hidden": "true" }, one.enforced ? "✓" : "–"),
    h("span", {}, h("strong", {}, String(one.what)), " ",
      h("span", { class: "soft" }, `${one.enforced ? "" : "not here: "}${one.how ?? ""}`)))));
}
