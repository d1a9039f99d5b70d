// The form for one operation. What it cannot show (a field nobody described, a list of texts with line breaks) it
// keeps as it is, so that going through the form never loses anything from the JSON.

import { h } from "./dom.js";
import { WIDGETS } from "./fields.js";
import { media } from "./media.js";
import { fieldsOf } from "./schema.js";

/** Fill `place` with the form for a schema; `changed` hears of edits. Null where only JSON will do. */
export function makeForm(place, schema, changed) {
  const fields = fieldsOf(schema);
  if (!fields) {
    place.replaceChildren();
    return null;
  }
  const group = makeGroup(fields, changed);
  place.replaceChildren(group.element);
  return group;
}

function makeGroup(fields, changed) {
  const widgets = new Map(fields.map((field) => [field.name, makeWidget(field, changed)]));
  let others = {};
  const of = (wanted) => fields.filter((field) => field.required === wanted).map((field) => widgets.get(field.name).element);
  const options = of(false);
  const element = h("div", { class: "fields" }, of(true),
    options.length === 0 ? null
    : options.length === fields.length ? options
    : h("details", { class: "options" }, h("summary", {}, "Options"), h("div", { class: "option-grid" }, options)));

  return {
    element,
    fields,
    get() {
      const body = {};
      for (const [name, widget] of widgets) {
        const value = widget.get();
        if (value !== undefined) body[name] = value;
      }
      return { ...body, ...others };
    },
    set(body) {
      if (body === undefined || body === null || typeof body !== "object" || Array.isArray(body)) return false;
      others = Object.fromEntries(Object.entries(body).filter(([name]) => !widgets.has(name)));
      for (const [name, widget] of widgets) widget.set(body[name]);
      const told = element.querySelector(":scope > details");
      const said = fields.some((field) => !field.required && body[field.name] !== undefined);
      if (told && said) told.open = true;
      return true;
    },
  };
}

function makeWidget(field, changed) {
  const kept = { value: undefined };
  const edited = () => {
    kept.value = undefined;
    mark(false);
    changed();
  };
  const widget = maker(field)(field, edited);
  const mark = (held) => {
    widget.element.classList.toggle("held", held);
    widget.element.title = held ? "This value can only be edited as JSON." : "";
  };
  return {
    element: widget.element,
    get: () => (kept.value !== undefined ? kept.value : widget.get()),
    set(value) {
      const fits = widget.set(value);
      kept.value = fits ? undefined : value;
      mark(!fits);
      return true;
    },
  };
}

function maker(field) {
  if (field.kind === "media") return media;
  if (field.kind === "group" && field.fields) return nested;
  return WIDGETS[field.kind] ?? WIDGETS.json;
}

function nested(field, changed) {
  const group = makeGroup(field.fields.map((one) => ({ ...one, required: true })), changed);
  const element = h("fieldset", { class: "field", "data-field": field.name }, h("legend", {}, field.label), group.element);
  return {
    element,
    get() {
      const body = group.get();
      return Object.keys(body).length === 0 && !field.required ? undefined : body;
    },
    set: (value) => group.set(value ?? {}),
  };
}
