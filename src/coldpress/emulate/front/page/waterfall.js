// Where a request's time went: one bar per phase, on the request's own clock.

import { clock, h, ms, mb } from "./dom.js";

const PHASES = {
  queue: "waiting for a sandbox",
  start: "starting the process",
  init: "loading, before the first request",
  wake: "thawing the sandbox",
  function: "the function at work",
  answer: "sending the answer",
};

export const ON_ITS_WAY = "Waiting for the record of this request.";
export const NOT_KEPT = "This request still runs, or its record is no longer kept.";

/** Draw a record, or say why there is none. */
export function drawWaterfall(place, record, title = "", missing = ON_ITS_WAY) {
  if (!record) {
    place.replaceChildren(h("p", { class: "soft" }, missing));
    return;
  }
  const phases = Array.isArray(record.phases) ? record.phases : [];
  const end = phases.reduce((most, phase) => Math.max(most, phase.start_ms + phase.ms), record.total_ms || 0) || 1;
  place.replaceChildren(
    h("p", { class: "record-head" }, badges(record), title ? h("span", { class: "soft" }, title) : null,
      h("span", { class: "soft figure" }, clock(record.at))),
    h("ol", { class: "phases" }, phases.map((phase) => row(phase, end))),
    facts(record),
  );
}

/** A request may fail and have been a cold start. */
function badges(record) {
  const failed = badge(record);
  return failed.classList.contains("bad") && record.cold ? [failed, badge({ cold: true })] : [failed];
}

export function badge(record) {
  if (record.error || record.status >= 400) return h("span", { class: "badge bad" }, `${record.status} ${record.error ?? ""}`.trim());
  return record.cold ? h("span", { class: "badge cold" }, "Cold start") : h("span", { class: "badge warm" }, "Warm");
}

function row(phase, end) {
  const bar = h("span", { class: "phase-bar" });
  bar.style.left = `${(phase.start_ms / end) * 100}%`;
  bar.style.width = `${(phase.ms / end) * 100}%`;
  return h("li", { "data-phase": phase.name, title: PHASES[phase.name] ?? "" },
    h("span", { class: "phase-name" }, phase.name, h("span", { class: "unseen" }, `: ${PHASES[phase.name] ?? ""}, `)),
    h("span", { class: "phase-track", "aria-hidden": "true" }, bar),
    h("span", { class: "figure" }, ms(phase.ms)));
}

function facts(record) {
  const rows = [
    ["Total", ms(record.total_ms)],
    ["Duration", ms(record.duration_ms)],
    ["Billed", typeof record.billed_ms === "number" ? `${record.billed_ms} ms` : "–"],
    ["Init", record.init_ms === null || record.init_ms === undefined ? null : ms(record.init_ms)],
    ["Memory", mb(record.memory_mb)],
    ["Sandbox", record.sandbox ? String(record.sandbox).slice(0, 8) : "none"],
  ];
  return h("dl", { class: "facts", "data-request": record.id },
    rows.filter(([, value]) => value !== null).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
