// One widget per kind of field. Each has an element, get() → a value or undefined for "say nothing", and
// set(value) → whether it can show that value.

import { h } from "./dom.js";

let made = 0;
const fresh = (name) => `field-${name.replace(/[^\w-]/g, "_")}-${(made += 1)}`;

export const WIDGETS = { text, line, texts, lines, choice, flag, number, json };

function labelled(field, id, control, ...more) {
  const help = field.help ? h("span", { class: "help soft" }, field.help) : null;
  return h("div", { class: `field field-${field.kind}`, "data-field": field.name },
    h("div", { class: "field-head" }, h("label", { for: id }, field.label), help, ...more), control);
}

function area(id, field, rows, changed, props = {}) {
  return h("textarea", { id, rows, name: field.name, oninput: changed, ...props });
}

function text(field, changed) {
  const id = fresh(field.name);
  const box = area(id, field, 2, changed);
  return {
    element: labelled(field, id, box),
    get: () => (box.value === "" && !field.required ? undefined : box.value),
    set: (value) => shownText(box, value),
  };
}

function line(field, changed) {
  const id = fresh(field.name);
  const box = h("input", { id, type: "text", name: field.name, oninput: changed });
  return {
    element: labelled(field, id, box),
    get: () => box.value || undefined,
    set: (value) => shownText(box, value),
  };
}

function shownText(box, value) {
  box.value = typeof value === "string" ? value : "";
  return value === undefined || typeof value === "string";
}

/** One text, or several: one a line. A text with line breaks can only stand alone. */
function texts(field, changed) {
  const id = fresh(field.name);
  const box = area(id, field, 2, changed);
  const option = (value, word) => {
    const input = h("input", { type: "radio", name: `${id}-how`, value, onchange: () => { told(); changed(); } });
    return [input, h("label", { class: "switch-part" }, input, h("span", {}, word))];
  };
  const [one, oneLabel] = option("one", "one");
  const [many, manyLabel] = option("several", "several");
  const told = () => {
    box.rows = many.checked ? 4 : 2;
    box.placeholder = many.checked ? "one a line" : "";
    box.wrap = many.checked ? "off" : "soft"; // a text that wraps would look like two
  };
  const choose = (several) => {
    (several ? many : one).checked = true;
    told();
  };
  choose(field.several);
  const how = h("span", { class: "switch", role: "radiogroup", "aria-label": `${field.label}: one or several` }, oneLabel, manyLabel);
  return {
    element: labelled(field, id, box, how),
    get() {
      if (box.value === "" && !field.required) return undefined;
      return many.checked ? nonEmpty(box.value) : box.value;
    },
    set(value) {
      if (value === undefined || typeof value === "string") {
        if (value !== undefined || !field.several) choose(false);
        return shownText(box, value);
      }
      choose(true);
      return shownLines(box, value);
    },
  };
}

function lines(field, changed) {
  const id = fresh(field.name);
  const box = area(id, field, 2, changed, { placeholder: "one a line" });
  return {
    element: labelled(field, id, box),
    get: () => (box.value.trim() === "" && !field.required ? undefined : nonEmpty(box.value)),
    set: (value) => shownLines(box, value ?? []),
  };
}

const nonEmpty = (value) => value.split("\n").filter((one) => one.trim() !== "");

function shownLines(box, value) {
  const fits = Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes("\n") && one.trim());
  box.value = fits ? value.join("\n") : "";
  return fits;
}

function choice(field, changed) {
  const id = fresh(field.name);
  const usual = field.preset === undefined ? "as usual" : `${field.preset} (as usual)`;
  const others = field.options.filter((one) => one !== field.preset);
  const box = h("select", { id, name: field.name, onchange: changed },
    field.required && field.preset === undefined ? null : h("option", { value: "" }, usual),
    others.map((one) => h("option", { value: JSON.stringify(one) }, String(one))));
  return {
    element: labelled(field, id, box),
    get: () => (box.value === "" ? undefined : JSON.parse(box.value)),
    set(value) {
      const wanted = value === undefined || value === field.preset ? "" : JSON.stringify(value);
      box.value = wanted;
      return box.value === wanted || value === undefined;
    },
  };
}

/** Said only where it differs from what the function does anyway. */
function flag(field, changed) {
  const id = fresh(field.name);
  const usual = field.preset === true;
  const box = h("input", { id, type: "checkbox", name: field.name, checked: usual, onchange: changed });
  const element = h("div", { class: "field field-flag", "data-field": field.name }, box, h("label", { for: id }, field.label));
  return {
    element,
    get: () => (box.checked === usual ? undefined : box.checked),
    set(value) {
      box.checked = value === undefined ? usual : value === true;
      return value === undefined || typeof value === "boolean";
    },
  };
}

function number(field, changed) {
  const id = fresh(field.name);
  const box = h("input", {
    id, type: "number", name: field.name, min: field.minimum, max: field.maximum, inputmode: "decimal",
    step: field.whole ? 1 : "any", placeholder: field.preset ?? "as usual", oninput: changed,
  });
  const all = h("input", { type: "checkbox", onchange: () => { box.disabled = all.checked; changed(); } });
  const row = h("div", { class: "number-row" }, box, field.nullable ? h("label", { class: "inline" }, all, "all") : null);
  return {
    element: labelled(field, id, row),
    get: () => (all.checked ? null : box.value === "" ? undefined : Number(box.value)),
    set(value) {
      all.checked = value === null;
      box.disabled = all.checked;
      box.value = typeof value === "number" ? String(value) : "";
      return value === undefined || typeof value === "number" || (value === null && field.nullable);
    },
  };
}

/** Whatever has no widget of its own; what is not JSON yet says nothing and is marked. */
function json(field, changed) {
  const id = fresh(field.name);
  const box = area(id, field, 3, changed, { class: "code", spellcheck: "false" });
  const read = () => {
    try {
      const value = box.value.trim() === "" ? undefined : JSON.parse(box.value);
      box.removeAttribute("aria-invalid");
      return value;
    } catch {
      box.setAttribute("aria-invalid", "true");
      return undefined;
    }
  };
  return {
    element: labelled({ ...field, help: field.help || "as JSON" }, id, box),
    get: read,
    set(value) {
      box.value = value === undefined ? "" : JSON.stringify(value);
      box.removeAttribute("aria-invalid");
      return true;
    },
  };
}
