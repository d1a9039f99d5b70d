// Pictures and sounds made here: no file comes from anywhere else.

const SIDE = 160;
const RATE = 16_000;

export function base64Of(data) {
  let text = "";
  // In parts: a call takes only so many arguments.
  for (let at = 0; at < data.length; at += 32_768) text += String.fromCharCode(...data.subarray(at, at + 32_768));
  return btoa(text);
}

/** Samples between -1 and 1 as a WAV of 16 bits, one channel. */
export function wavOf(samples, rate) {
  const data = new DataView(new ArrayBuffer(44 + samples.length * 2));
  const word = (at, text) => [...text].forEach((letter, step) => data.setUint8(at + step, letter.charCodeAt(0)));
  word(0, "RIFF");
  data.setUint32(4, 36 + samples.length * 2, true);
  word(8, "WAVEfmt ");
  data.setUint32(16, 16, true);
  data.setUint16(20, 1, true);
  data.setUint16(22, 1, true);
  data.setUint32(24, rate, true);
  data.setUint32(28, rate * 2, true);
  data.setUint16(32, 2, true);
  data.setUint16(34, 16, true);
  word(36, "data");
  data.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, at) => data.setInt16(44 + at * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true));
  return new Uint8Array(data.buffer);
}

function picture(draw) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  draw(canvas.getContext("2d"));
  return canvas.toDataURL("image/png").split(",")[1];
}

function disc(brush, x, y, radius, colour) {
  brush.fillStyle = colour;
  brush.beginPath();
  brush.arc(x, y, radius, 0, 2 * Math.PI);
  brush.fill();
}

function backdrop(brush, top, bottom) {
  const fade = brush.createLinearGradient(0, 0, 0, SIDE);
  fade.addColorStop(0, top);
  fade.addColorStop(1, bottom);
  brush.fillStyle = fade;
  brush.fillRect(0, 0, SIDE, SIDE);
}

export const PICTURES = {
  orange: () => picture((brush) => {
    backdrop(brush, "#e8f1f5", "#c9d9e0");
    disc(brush, 84, 136, 46, "rgba(40, 60, 70, .18)");
    disc(brush, 80, 86, 52, "#f58a1f");
    disc(brush, 66, 70, 22, "rgba(255, 214, 150, .55)");
    brush.fillStyle = "#3f7d32";
    brush.beginPath();
    brush.ellipse(98, 34, 22, 9, -0.5, 0, 2 * Math.PI);
    brush.fill();
  }),
  sunset: () => picture((brush) => {
    backdrop(brush, "#31456b", "#f7a55e");
    disc(brush, 80, 96, 26, "#ffe2a0");
    brush.fillStyle = "#243447";
    brush.fillRect(0, 112, SIDE, 48);
    brush.fillStyle = "rgba(255, 214, 150, .5)";
    for (let wave = 0; wave < 5; wave += 1) brush.fillRect(62 - wave * 5, 118 + wave * 8, 36 + wave * 10, 2);
  }),
  checkers: () => picture((brush) => {
    for (let row = 0; row < 8; row += 1) {
      for (let column = 0; column < 8; column += 1) {
        brush.fillStyle = (row + column) % 2 ? "#23313a" : "#f2eee4";
        brush.fillRect(column * 20, row * 20, 20, 20);
      }
    }
  }),
};

function sound(seconds, at, rate) {
  const samples = Float32Array.from({ length: seconds * rate }, (_, step) => at(step / rate));
  return base64Of(wavOf(samples, rate));
}

const tone = (pitch, time) => Math.sin(2 * Math.PI * pitch * time);

export const SOUNDS = {
  tone: (rate = RATE) => sound(1, (time) => 0.4 * tone(440, time) * Math.min(1, time * 20, (1 - time) * 20), rate),
  chord: (rate = RATE) => sound(1.5, (time) => 0.2 * Math.exp(-2 * time) * [262, 330, 392].reduce((all, pitch) => all + tone(pitch, time), 0), rate),
  bird: (rate = RATE) => sound(1, (time) => {
    const call = time % 0.25;
    return 0.4 * Math.exp(-18 * call) * tone(2600 - 4200 * call, call);
  }, rate),
};
