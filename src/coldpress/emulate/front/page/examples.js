// Something to send with one press, for every task: [{name, body}]. A body may be a function, so that pictures and
// sounds are only made when somebody wants them.

import { remember } from "./body.js";
import { PICTURES, SOUNDS } from "./samples.js";

const KINDS_OF_TEXT = [
  "The cat sleeps on the warm sofa.",
  "A kitten naps on the couch.",
  "Stock markets fell sharply today.",
  "Shares dropped on Wall Street.",
  "How do I bake sourdough bread?",
  "A recipe for a crusty loaf.",
];
const DOCUMENTS = [
  "Cold starts happen when a new sandbox must be made for a request.",
  "Oranges are pressed in the morning.",
  "A sandbox that waits is frozen, and thaws when the next request comes.",
  "Lambda bills by the millisecond.",
];
const CONTEXT =
  "Ada Lovelace wrote the first program for Charles Babbage's Analytical Engine in 1843. She lived in London and " +
  "was the daughter of Lord Byron.";

const named = (base64, name) => (remember(base64, name), base64);
const drawn = (name) => named(PICTURES[name](), `${name}.png`);
const heard = (name, rate) => named(SOUNDS[name](rate), `${name}.wav`);

const BY_TASK = {
  embeddings: (path) => {
    const field = path === "/v1/embeddings" ? "input" : "text";
    return [
      { name: "Six texts, three topics", body: { [field]: KINDS_OF_TEXT } },
      { name: "One text", body: { [field]: "The quick brown fox jumps over the lazy dog." } },
      { name: "Word order", body: { [field]: ["The dog bites the man.", "The man bites the dog.", "A dog bit a man."] } },
    ];
  },
  "text-classification": () => [
    { name: "Good news", body: { text: "What a wonderful morning, I love it.", top_k: null } },
    { name: "Bad news", body: { text: "The soup was cold and nobody cared.", top_k: null } },
    { name: "Several", body: { text: ["Great value.", "It broke on the first day.", "It is a chair."], top_k: null } },
    { name: "A pair", body: { text: "A man plays the guitar.", text_pair: "Somebody makes music.", top_k: null } },
  ],
  "token-classification": () => [
    { name: "People and places", body: { text: "Ada Lovelace met Charles Babbage in London in 1833." } },
    { name: "Accents and emoji", body: { text: "🍊 Marie Curie moved from Paris to Zürich, not to the Sorbonne." } },
    { name: "Two texts", body: { text: ["Marie Curie taught at the Sorbonne in Paris.", "Ada Lovelace lived in London."] } },
  ],
  "question-answering": () => [
    { name: "When?", body: { question: "When was the first program written?", context: CONTEXT } },
    { name: "Where?", body: { question: "Where did Ada live?", context: CONTEXT } },
    { name: "Three best", body: { question: "Who was her father?", context: CONTEXT, top_k: 3 } },
  ],
  "fill-mask": (path, { gap }) => [
    { name: "A capital", body: { text: `The capital of France is ${gap}.` } },
    { name: "Breakfast", body: { text: `I drink a glass of orange ${gap} every morning.` } },
    { name: "Two texts", body: { text: [`Ice is ${gap}.`, `Fire is ${gap}.`] } },
  ],
  reranking: () => [
    { name: "Four documents", body: { query: "What is a cold start?", documents: DOCUMENTS } },
    { name: "Same documents, other query", body: { query: "How is the price made?", documents: DOCUMENTS } },
  ],
  "image-classification": () => [
    ...Object.keys(PICTURES).map((name) => ({ name: `Draw: ${name}`, body: () => ({ image: drawn(name) }) })),
    { name: "All three", body: () => ({ image: Object.keys(PICTURES).map(drawn) }) },
  ],
  "image-embeddings": () => [
    { name: "All three", body: () => ({ image: Object.keys(PICTURES).map(drawn) }) },
    ...Object.keys(PICTURES).map((name) => ({ name: `Draw: ${name}`, body: () => ({ image: drawn(name) }) })),
  ],
  "audio-classification": (path, { rate }) =>
    Object.keys(SOUNDS).map((name) => ({ name: `Make: ${name}`, body: () => ({ audio: heard(name, rate) }) })),
  tensors: (path, { inputs }) => (inputs.length ? [
    { name: "A ramp", body: { inputs: Object.fromEntries(inputs.map((one) => [one.name, filled(one, ramp)])) } },
    { name: "Zeros", body: { inputs: Object.fromEntries(inputs.map((one) => [one.name, filled(one, () => 0)])) } },
  ] : []),
  custom: () => [
    { name: "Hello", body: { text: "Hello" } },
    { name: "Two at once", body: [{ text: "Hello" }, { text: "Goodbye" }] },
  ],
};

const ramp = (at, whole) => (whole ? at % 10 : Math.round((at % 20) * 5) / 100);

/** Numbers in the shape of an input; axes of any size get one or a few. */
function filled({ type, shape }, number) {
  const whole = !type.includes("float");
  let at = 0;
  const deep = ([size, ...rest]) => Array.from({ length: size }, () => (rest.length ? deep(rest) : value()));
  const value = () => (type === "bool" ? true : number(at++, whole));
  return shape.length ? deep(shape) : value();
}

const MOST_NUMBERS = 20_000;

/** What the document's own description tells beyond its schemas: the mask, the rate, the inputs. */
export function hints(description = "") {
  const inputs = [...description.split("; gives ")[0].matchAll(/([\w.:/-]+) \((\w+), \[([^\]]*)\]\)/g)]
    .map(([, name, type, sizes]) => ({
      name, type,
      shape: sizes.split(", ").filter(Boolean).map((size, axis) => Number(size) || (axis ? 4 : 1)),
    }));
  const numbers = inputs.reduce((all, one) => all + one.shape.reduce((size, axis) => size * axis, 1), 0);
  return {
    gap: /text says (\S+?);/.exec(description)?.[1] ?? "[MASK]",
    rate: Number(/heard at (\d+) Hz/.exec(description)?.[1]) || undefined,
    inputs: numbers <= MOST_NUMBERS ? inputs : [],
  };
}

/** The examples that fit a task and a path; none for functions nobody knows. */
export function examplesFor(task, path, description) {
  return BY_TASK[String(task ?? "").replaceAll("_", "-")]?.(path, hints(description)) ?? [];
}

/** The task by what a request asks for, where the server does not know it. */
export function guessedTask(fields = []) {
  const has = (name) => fields.some((field) => field.name === name);
  if (has("question") && has("context")) return "question-answering";
  if (has("query") && has("documents")) return "reranking";
  if (has("aggregation_strategy")) return "token-classification";
  if (has("targets")) return "fill-mask";
  if (has("function_to_apply")) return "text-classification";
  if (has("audio")) return "audio-classification";
  if (has("image")) return has("top_k") ? "image-classification" : "image-embeddings";
  if (has("inputs")) return "tensors";
  return has("text") || has("input") ? "embeddings" : null;
}
