// Elements and figures. Whatever comes from a function only ever goes in as text.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

/** An element: h("p", {class: "soft", onclick: go}, "text", child). */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A function that runs once per frame however often it is called; hidden pages draw nothing at all. */
export function perFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/** Tabs that arrow keys move between; returns a function that chooses one by its id. */
export function tabs(list, onChange = () => {}) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const choose = (id, focus = false) => {
    for (const tab of all) {
      const chosen = tab.id === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls")).hidden = !chosen;
      if (chosen && focus) tab.focus();
    }
    onChange(id);
  };
  for (const [at, tab] of all.entries()) {
    tab.addEventListener("click", () => choose(tab.id));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) choose(all[(at + step + all.length) % all.length].id, true);
    });
  }
  return choose;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const known = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : "–");
export const score = (value) => (known(value) ? value.toFixed(Math.abs(value) >= 100 ? 1 : 3) : String(value));

export function ms(value) {
  if (!known(value)) return "–";
  if (value >= 10_000) return `${one.format(value / 1000)} s`;
  return value >= 100 ? `${whole.format(value)} ms` : `${one.format(value)} ms`;
}

export const mb = (value) => (known(value) ? `${value >= 100 ? whole.format(value) : one.format(value)} MB` : "–");

export function bytes(value) {
  if (value < 1000) return `${value} bytes`;
  return value < 1e6 ? `${one.format(value / 1e3)} kB` : `${one.format(value / 1e6)} MB`;
}

/** Dollars, with as many digits as small amounts need. */
export function dollars(value) {
  if (!known(value)) return "–";
  if (value === 0) return "$0";
  if (value >= 0.01) return `$${value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return `$${value.toFixed(Math.min(12, 1 - Math.floor(Math.log10(value))))}`;
}

export function clock(epoch) {
  const time = new Date(epoch * 1000);
  return `${time.toTimeString().slice(0, 8)}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

export function clipped(text, most) {
  const letters = String(text);
  return letters.length > most ? `${letters.slice(0, most - 1)}…` : letters;
}

export const list = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
