// Animated GIFs: one palette for all frames, of which each but the first has only what changed.

const MOST_COLOURS = 255; // and one more for what did not change
const CLEAR = 255;

export class Gif {
  // The colours are those that are most frequent in some of the frames.
  constructor(width, height, samples) {
    Object.assign(this, { width, height, last: null, nearest: new Map() });
    this.palette = frequentColours(samples);
    this.bytes = [
      ...letters("GIF89a"), ...short16(width), ...short16(height), 0xf7, 0, 0,
      ...Array.from({ length: 256 }, (_, place) => rgb(this.palette[place] ?? 0)).flat(),
      0x21, 0xff, 11, ...letters("NETSCAPE2.0"), 3, 1, 0, 0, 0, // for ever
    ]; // prettier-ignore
    this.parts = [Uint8Array.from(this.bytes)];
  }

  // A frame of RGBA bytes, which stays for some milliseconds.
  add(pixels, milliseconds) {
    const frame = this.indexed(pixels);
    const box = this.last ? changedBox(this.last, frame, this.width) : this.whole();
    const { x, y, width, height } = box;
    const seen = new Uint8Array(width * height);
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const at = (y + row) * this.width + x + column;
        const same = this.last && this.last[at] === frame[at];
        seen[row * width + column] = same ? CLEAR : frame[at];
      }
    }
    this.parts.push(
      Uint8Array.from([
        0x21, 0xf9, 4, 0x05, ...short16(Math.round(milliseconds / 10)), CLEAR, 0,
        0x2c, ...short16(x), ...short16(y), ...short16(width), ...short16(height), 0, 8,
      ]), // prettier-ignore
      blocks(compressed(seen)),
    );
    this.last = frame;
  }

  whole() {
    return { x: 0, y: 0, width: this.width, height: this.height };
  }

  indexed(pixels) {
    const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4);
    const found = new Uint8Array(words.length);
    let [word, place] = [-1, 0];
    for (let at = 0; at < words.length; at++) {
      if (words[at] !== word) {
        word = words[at];
        place = this.placeOfColour(word & 0xffffff);
      }
      found[at] = place;
    }
    return found;
  }

  placeOfColour(colour) {
    if (!this.nearest.has(colour)) {
      const wanted = rgb(colour);
      const distance = (other) =>
        rgb(other).reduce((sum, value, turn) => sum + (value - wanted[turn]) ** 2, 0);
      let best = 0;
      this.palette.forEach((other, place) => {
        if (distance(other) < distance(this.palette[best])) best = place;
      });
      this.nearest.set(colour, best);
    }
    return this.nearest.get(colour);
  }

  blob() {
    return new Blob([...this.parts, Uint8Array.of(0x3b)], { type: "image/gif" });
  }
}

function letters(text) {
  return [...text].map((letter) => letter.charCodeAt(0));
}

function short16(value) {
  return [value & 255, value >> 8];
}

// Canvases have little-endian RGBA.
function rgb(colour) {
  return [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
}

function frequentColours(samples) {
  const counts = new Map();
  for (const pixels of samples) {
    const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.length / 4);
    for (const word of words) {
      const colour = word & 0xffffff;
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
  }
  const sorted = [...counts].sort((one, other) => other[1] - one[1]);
  return sorted.slice(0, MOST_COLOURS).map(([colour]) => colour);
}

function changedBox(before, after, width) {
  let [left, right, top, bottom] = [width, -1, -1, -1];
  for (let at = 0; at < after.length; at++) {
    if (before[at] === after[at]) continue;
    const column = at % width;
    left = Math.min(left, column);
    right = Math.max(right, column);
    bottom = Math.floor(at / width);
    if (top < 0) top = bottom;
  }
  if (top < 0) return { x: 0, y: 0, width: 1, height: 1 };
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

// LZW with codes of 9 to 12 bits, the least significant bit first.
function compressed(places) {
  const [begin, end] = [256, 257];
  const bytes = [];
  let [bits, held, size, next, known] = [0, 0, 9, end + 1, new Map()];
  const write = (code) => {
    bits |= code << held;
    for (held += size; held >= 8; held -= 8) {
      bytes.push(bits & 255);
      bits >>>= 8;
    }
  };
  const restart = () => {
    write(begin);
    [size, next, known] = [9, end + 1, new Map()];
  };
  restart();
  let prefix = places[0];
  for (let at = 1; at < places.length; at++) {
    const key = (prefix << 8) | places[at];
    const code = known.get(key);
    if (code !== undefined) {
      prefix = code;
      continue;
    }
    write(prefix);
    prefix = places[at];
    if (next === 4096) {
      restart();
      continue;
    }
    if (next === 1 << size) size += 1;
    known.set(key, next++);
  }
  write(prefix);
  write(end);
  if (held) bytes.push(bits & 255);
  return bytes;
}

function blocks(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; at += 255) {
    const part = bytes.slice(at, at + 255);
    found.push(part.length, ...part);
  }
  return Uint8Array.from([...found, 0]);
}
