// Pictures and sounds: dropped, chosen or pasted, shown, and handed on as base64. Functions read JPEG, PNG and WAV;
// what a browser can open of other kinds is turned into one of them here.

import { bytes, h, list } from "./dom.js";
import { nameOf, remember } from "./body.js";
import { base64Of, wavOf } from "./samples.js";

const KINDS = {
  image: { word: "a picture", accept: "image/*", ending: ".png", plain: ["image/png", "image/jpeg"] },
  audio: {
    word: "a sound", accept: "audio/*,.wav", ending: ".wav",
    plain: ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"],
  },
  file: { word: "a file", accept: "", plain: null },
};
const HEARD_AT = 16_000;
let made = 0;

export function media(field, changed) {
  const kind = KINDS[field.media];
  const id = `media-${(made += 1)}`;
  let files = [];
  const input = h("input", { id, class: "unseen", type: "file", accept: kind.accept, multiple: field.most > 1 });
  const shown = h("ul", { class: "files" });
  const problem = h("p", { class: "problem", role: "status" });
  const zone = h("label", { class: "drop", for: id, "data-drop": field.media },
    h("strong", {}, `Drop ${kind.word} here`),
    h("span", { class: "soft" }, field.media === "image" ? "or click, or paste" : "or click to choose"));
  const element = h("div", { class: "field field-media", "data-field": field.name },
    h("div", { class: "field-head" }, h("span", { class: "label" }, field.label),
      field.most > 1 ? h("span", { class: "help soft" }, `up to ${field.most}`) : null),
    input, zone, shown, problem);

  const draw = () => shown.replaceChildren(...files.map((base64, at) => preview(field.media, base64, () => {
    files = files.filter((_, other) => other !== at);
    draw();
    changed();
  })));
  const add = async (given) => {
    problem.textContent = "";
    for (const file of given) {
      try {
        const base64 = await read(file, field.media, kind);
        const asIs = !kind.plain || kind.plain.includes(file.type);
        remember(base64, asIs ? file.name || "pasted" : file.name.replace(/(\.\w+)?$/, kind.ending));
        files = field.most > 1 ? [...files, base64].slice(-field.most) : [base64];
      } catch {
        problem.textContent = `${file.name} cannot be read as ${kind.word}.`;
      }
    }
    draw();
    changed();
  };

  input.addEventListener("change", () => {
    add([...input.files]);
    input.value = ""; // so that the same file can be chosen again
  });
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.dataset.over = "yes";
    });
  }
  zone.addEventListener("dragleave", () => delete zone.dataset.over);
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    delete zone.dataset.over;
    add([...event.dataTransfer.files]);
  });
  const paste = (event) => {
    if (!element.isConnected) return document.removeEventListener("paste", paste);
    const pasted = [...(event.clipboardData?.files ?? [])].filter((file) => file.type.startsWith(`${field.media}/`));
    if (pasted.length) add(pasted);
  };
  document.addEventListener("paste", paste);

  return {
    element,
    get: () => (files.length === 0 ? undefined : files.length === 1 ? files[0] : files),
    set(value) {
      const given = list(value);
      const fits = given.every((one) => typeof one === "string") && given.length <= field.most;
      files = fits ? given : [];
      draw();
      return fits;
    },
  };
}

function preview(kind, base64, remove) {
  const name = nameOf(base64) ?? "file";
  const size = bytes(Math.floor((base64.length * 3) / 4));
  const url = `data:${typeOf(kind, base64)};base64,${base64}`;
  const seen =
    kind === "image" ? h("img", { src: url, alt: name })
    : kind === "audio" ? h("audio", { src: url, controls: true, "aria-label": name })
    : null;
  return h("li", {}, seen, h("span", { class: "file-name" }, name, h("span", { class: "soft" }, ` ${size}`)),
    h("button", { type: "button", class: "quiet small", "aria-label": `Remove ${name}`, onclick: remove }, "Remove"));
}

function typeOf(kind, base64) {
  if (kind === "audio") return "audio/wav";
  return base64.startsWith("/9j/") ? "image/jpeg" : "image/png";
}

async function read(file, media, kind) {
  if (kind.plain && !kind.plain.includes(file.type)) {
    return media === "image" ? asPng(file) : asWav(file);
  }
  return base64Of(new Uint8Array(await file.arrayBuffer()));
}

async function asPng(file) {
  const picture = await createImageBitmap(file);
  const canvas = h("canvas", { width: picture.width, height: picture.height });
  canvas.getContext("2d").drawImage(picture, 0, 0);
  return canvas.toDataURL("image/png").split(",")[1];
}

async function asWav(file) {
  const heard = await new OfflineAudioContext(1, 1, HEARD_AT).decodeAudioData(await file.arrayBuffer());
  return base64Of(wavOf(heard.getChannelData(0), HEARD_AT));
}
