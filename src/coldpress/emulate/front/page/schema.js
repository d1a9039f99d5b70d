// What a function's OpenAPI document says about its requests, in the few kinds that a form can show.

/** Words for fields that most functions share; others go by their own names. */
const KNOWN = {
  text: { label: "Text" },
  text_pair: { label: "Second text", help: "only for pairs" },
  input: { label: "Text" },
  query: { label: "Query" },
  documents: { label: "Documents", several: true },
  question: { label: "Question" },
  context: { label: "Text to look in" },
  image: { label: "Picture" },
  audio: { label: "Sound" },
  top_k: { label: "How many answers" },
  top_n: { label: "How many documents" },
  max_answer_len: { label: "Longest answer" },
  targets: { label: "Only these words" },
  ignore_labels: { label: "Labels to leave out" },
  aggregation_strategy: { label: "Join tokens" },
  function_to_apply: { label: "Scores by" },
  prompt_name: { label: "Prompt" },
  encoding_format: { label: "Encoding" },
  encoding: { label: "Encoding" },
  model: { label: "Model", help: "any name will do" },
  truncate: { label: "Cut long texts", preset: true },
  logits: { label: "Logits instead of scores" },
  return_documents: { label: "Give the documents back" },
  handle_impossible_answer: { label: "May have no answer" },
};

/** The POST operations of a document that take JSON: [{path, summary, schema}]. */
export function operations(document) {
  const found = [];
  for (const [path, item] of Object.entries(document?.paths ?? {})) {
    const post = item?.post;
    const content = post?.requestBody?.content ?? {};
    const type = Object.keys(content).find((name) => name.includes("json"));
    if (post && (type || !post.requestBody)) {
      found.push({ path, summary: String(post.summary ?? ""), schema: resolved(document, content[type]?.schema ?? {}) });
    }
  }
  return found.sort((a, b) => Number(b.path === "/") - Number(a.path === "/"));
}

/** What a schema holds as plain values, in which nothing refers to anything. */
const VALUES = new Set(["enum", "const", "default", "examples"]);

/** Follow references; a schema that holds itself ends after some steps. */
function resolved(document, schema, depth = 0) {
  if (!schema || typeof schema !== "object") return schema;
  if (depth > 12) return {};
  if (Array.isArray(schema)) return schema.map((part) => resolved(document, part, depth + 1));
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#/")) {
    const parts = schema.$ref.slice(2).split("/").map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"));
    return resolved(document, parts.reduce((at, part) => at?.[part], document), depth + 1);
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [
    name, VALUES.has(name) ? value : resolved(document, value, depth + 1),
  ]));
}

/** The fields of an object, or null where a form would say less than JSON. */
export function fieldsOf(schema) {
  const properties = Object.entries(schema?.properties ?? {});
  if (properties.length === 0) return null;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return properties
    .map(([name, part]) => field(name, part, required.has(name)))
    .filter((one) => one.kind !== "skip");
}

function field(name, schema, required) {
  const known = KNOWN[name] ?? {};
  const said = {
    name,
    required,
    label: known.label ?? String(schema.title ?? name),
    help: known.help ?? (typeof schema.description === "string" ? schema.description : ""),
    preset: schema.default ?? known.preset,
    several: known.several ?? false,
    nullable: list(schema.type).includes("null"),
    minimum: schema.minimum,
    maximum: schema.maximum,
  };
  return { ...said, ...kind(name, schema, required) };
}

function kind(name, schema, required) {
  const choices = (schema.oneOf ?? schema.anyOf ?? [schema]).filter((part) => part.type !== "null");
  const single = choices.find((part) => list(part.type).includes("string"));
  const many = choices.find((part) => list(part.type).includes("array") && list(part.items?.type).includes("string"));
  if ("const" in schema) return { kind: "skip" };
  if (Array.isArray(schema.enum)) return { kind: "choice", options: schema.enum };
  if (choices.length > (single ? 1 : 0) + (many ? 1 : 0) && (single || many)) return { kind: "json" };
  if (single?.contentEncoding === "base64" || single?.format === "binary") {
    return { kind: "media", media: mediaOf(name, single), most: many ? (many.maxItems ?? 64) : 1 };
  }
  if (single && many) return { kind: "texts", most: many.maxItems };
  if (single) return Array.isArray(single.enum) ? { kind: "choice", options: single.enum } : { kind: required ? "text" : "line" };
  if (many) return { kind: "lines" };
  const only = choices.length === 1 ? choices[0] : {};
  if (list(only.type).includes("boolean")) return { kind: "flag" };
  if (list(only.type).some((type) => type === "integer" || type === "number")) {
    return { kind: "number", whole: list(only.type).includes("integer") };
  }
  if (only.properties) return { kind: "group", fields: fieldsOf(only) };
  return { kind: "json" };
}

function mediaOf(name, schema) {
  const said = `${name} ${schema.contentMediaType ?? ""}`.toLowerCase();
  if (/image|picture|photo/.test(said)) return "image";
  return /audio|sound|wav|speech/.test(said) ? "audio" : "file";
}

const list = (type) => (Array.isArray(type) ? type : [type]);
