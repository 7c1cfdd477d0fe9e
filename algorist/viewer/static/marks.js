// The marks that all pictures share: arrows, tags, crosses and bars of confidence.

import { shape } from "./dom.js";

export const HEAD = 9; // the length of an arrow's head
const TAG_HEIGHT = 17;
export const TAG_LINE = TAG_HEIGHT + 3;

// A bent arrow from one point to another, which ends short of both by the given distances.
export function arrow(
  from,
  to,
  { bend = 0.15, gaps = [0, 0], colour, wrong, truth, confidence, width = 2.2 },
) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const control = bentMiddle(from, to, bend);
  const start = towards(from, control, gaps[0]);
  const tip = towards(to, control, gaps[1]);
  const size = Math.min(HEAD + width / 2, Math.max(5, length / 6));
  const back = towards(tip, control, size);
  const angle = Math.atan2(tip.y - back.y, tip.x - back.x);
  const corner = (side) => ({
    x: tip.x - size * Math.cos(angle) + side * size * 0.5 * Math.sin(angle),
    y: tip.y - size * Math.sin(angle) - side * size * 0.5 * Math.cos(angle),
  });
  const kinds = { wrong, truth, unsure: confidence !== undefined };
  return shape(
    "g",
    { class: classes(`arrow ${wrong || truth ? "" : colour}`, kinds) },
    shape("path", { d: `M${at(start)} Q${at(control)} ${at(back)}`, "stroke-width": width }),
    shape("polygon", { points: `${at(tip)} ${at(corner(1))} ${at(corner(-1))}` }),
  );
}

// The point that a bent line is drawn to.
export function bentMiddle(from, to, bend) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  return { x: (from.x + to.x) / 2 - dy * bend, y: (from.y + to.y) / 2 + dx * bend };
}

// A base class, and those others that hold.
export function classes(base, kinds) {
  return [base.trim(), ...Object.keys(kinds).filter((kind) => kinds[kind])].join(" ");
}

export function at({ x, y }) {
  return `${round(x)},${round(y)}`;
}

export function towards(point, target, distance) {
  const [dx, dy] = [target.x - point.x, target.y - point.y];
  const length = Math.hypot(dx, dy) || 1;
  return { x: point.x + (dx / length) * distance, y: point.y + (dy / length) * distance };
}

export function round(value) {
  return Math.round(value * 100) / 100;
}

// How wide a text is, in pixels.
const widths = new Map();
let ruler = null;
export function textWidth(text, size = 11, weight = 400) {
  const key = `${size} ${weight} ${text}`;
  if (!widths.has(key)) {
    ruler ??= document.createElement("canvas").getContext("2d");
    ruler.font = `${weight} ${size}px system-ui, sans-serif`;
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

// How sure the net is, as a small bar that is filled so far.
export function confidenceBar(percent, x, y, width) {
  if (percent === undefined) return null;
  const box = { x: round(x), y: round(y), height: 3 };
  return shape(
    "g",
    { class: "confidence" },
    shape("rect", { ...box, width: round(width) }),
    shape("rect", { ...box, class: "filled", width: round((width * percent) / 100) }),
  );
}

// The badge of something wrong.
export function cross(x, y, radius = 6) {
  const arm = round(radius * 0.42);
  return shape(
    "g",
    { class: "cross", transform: `translate(${at({ x, y })})` },
    shape("circle", { r: radius }),
    shape("path", { d: `M${-arm},${-arm} L${arm},${arm} M${arm},${-arm} L${-arm},${arm}` }),
  );
}

// The size of tags side by side.
export function tagsSize(tags) {
  return { width: tags.reduce((sum, tag) => sum + tagWidth(tag) + 3, -3), height: TAG_HEIGHT };
}

// Tags side by side, from their left upper corner.
export function tagRow(tags, x, y) {
  let next = x;
  return tags.map((tag) => {
    const made = pill(tag, next, y);
    next += tagWidth(tag) + 3;
    return made;
  });
}

// Tags below points of a line: each as high as it can be without covering another.
export function tagLines(tagged, [left, right]) {
  const ends = [];
  return tagged
    .flatMap(({ x, y, tags }) => tags.map((tag) => ({ x, y, tag })))
    .sort((a, b) => a.x - b.x)
    .map(({ x, y, tag }) => {
      const width = tagWidth(tag);
      const start = Math.max(left, Math.min(right - width, x - width / 2));
      let line = ends.findIndex((end) => end + 2 <= start);
      if (line < 0) line = ends.length;
      ends[line] = start + width;
      return pill(tag, start, y + line * TAG_LINE);
    });
}

function pill(tag, x, y) {
  const width = tagWidth(tag);
  return shape(
    "g",
    { class: classes("tag", { wrong: tag.wrong, truth: tag.truth }) },
    shape("rect", {
      class: "pill",
      x: round(x),
      y: round(y),
      width: round(width),
      height: TAG_HEIGHT,
      rx: TAG_HEIGHT / 2,
    }),
    shape("text", { x: round(x + width / 2), y: round(y + 12) }, tagText(tag)),
    confidenceBar(tag.confidence, x + 5, y + TAG_HEIGHT - 1, width - 10),
  );
}

// With a bar of confidence there is room for more and less of it.
function tagWidth(tag) {
  const least = tag.confidence === undefined ? 0 : 26;
  return Math.max(least, Math.ceil(textWidth(tagText(tag), 11, 600)) + 12);
}

function tagText(tag) {
  return tag.wrong ? `${tag.text} ×` : tag.truth ? `${tag.text} ✓` : tag.text;
}
