// Light and dark: what the system says until somebody presses the button. Canvases cannot see CSS, so the
// colours that they draw with stand here.

import { $ } from "./dom.js";

const KEPT = "coldpress-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set();

/** Cold below zero, warm above, the paper between: red, green, blue. */
const SCALES = {
  light: { cold: [38, 118, 168], paper: [246, 248, 249], warm: [224, 90, 16] },
  dark: { cold: [86, 178, 226], paper: [27, 37, 44], warm: [251, 140, 56] },
};

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

/** Draw now, and again whenever the colours change, for as long as the element is on the page. */
export function drawn(element, draw) {
  draw();
  watchers.add({ element: new WeakRef(element), draw: new WeakRef(draw) });
  element.redraw = draw; // keeps it alive exactly as long as what it draws on
}

/** The colour of a value between -1 and 1. */
export function diverging(value) {
  const scale = SCALES[isDark() ? "dark" : "light"];
  const end = value < 0 ? scale.cold : scale.warm;
  const part = Math.min(1, Math.abs(value));
  return scale.paper.map((from, at) => Math.round(from + (end[at] - from) * part));
}

/** Black or white, whichever can be read on a colour. */
export function inkOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10191f" : "#ffffff";
}

export function setUpTheme() {
  const button = $("theme");
  const told = () => {
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    for (const watcher of watchers) {
      const element = watcher.element.deref();
      if (element?.isConnected) watcher.draw.deref()?.();
      else watchers.delete(watcher);
    }
  };
  document.documentElement.dataset.theme = kept() ?? "";
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    keep(chosen);
    told();
  });
  system.addEventListener("change", told);
  told();
}

// Storage may be forbidden, and then a choice lasts as long as the page.
function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function keep(theme) {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // as above
  }
}
