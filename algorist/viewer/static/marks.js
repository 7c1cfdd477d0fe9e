// The marks that all pictures share: arrows, fills, tags, and what is said about a node.

import { shape } from "./dom.js";

// How solid something is drawn that the net is so sure of, in percent.
export function solidity(confidence) {
  return 0.25 + 0.75 * Math.max(0, ((confidence ?? 100) - 30) / 70);
}

// A bent arrow from one point to another, which ends short of both by the given distances.
export function arrow(
  from,
  to,
  { bend = 0.15, gaps = [0, 0], colour, wrong, confidence, width = 2.2 },
) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const control = { x: (from.x + to.x) / 2 - dy * bend, y: (from.y + to.y) / 2 + dx * bend };
  const start = towards(from, control, gaps[0]);
  const tip = towards(to, control, gaps[1]);
  const size = Math.min(9, Math.max(5, length / 6));
  const back = towards(tip, control, size);
  const angle = Math.atan2(tip.y - back.y, tip.x - back.x);
  const corner = (side) => ({
    x: tip.x - size * Math.cos(angle) + side * size * 0.5 * Math.sin(angle),
    y: tip.y - size * Math.sin(angle) - side * size * 0.5 * Math.cos(angle),
  });
  return shape(
    "g",
    { class: `arrow ${wrong ? "wrong" : colour}`, opacity: round(solidity(confidence)) },
    shape("path", { d: `M${at(start)} Q${at(control)} ${at(back)}`, "stroke-width": width }),
    shape("polygon", { points: `${at(tip)} ${at(corner(1))} ${at(corner(-1))}` }),
  );
}

export function at({ x, y }) {
  return `${round(x)},${round(y)}`;
}

function towards(point, target, distance) {
  const [dx, dy] = [target.x - point.x, target.y - point.y];
  const length = Math.hypot(dx, dy) || 1;
  return { x: point.x + (dx / length) * distance, y: point.y + (dy / length) * distance };
}

export function round(value) {
  return Math.round(value * 100) / 100;
}

// What fills a node: one part for each mask or class, empty where it is not set.
export function partsOf(trace, looks, side, moment, node) {
  return looks.drawn(moment, "fill", side).map((feature) => {
    const value = trace.values(side, feature, moment)[node];
    const shade =
      feature.kind === "mask" ? (value === 1 ? 1 : 0) : value / Math.max(feature.classes - 1, 1);
    return {
      colour: looks.colour(feature),
      shade: Math.max(shade, 0),
      wrong: trace.wrong(side, feature, moment).has(node),
      confidence: trace.confidence(side, feature, moment)?.[node],
    };
  });
}

// How such a part is drawn.
export function partLook(part) {
  return {
    class: `part ${part.colour} ${part.wrong ? "wrong" : ""}`,
    "fill-opacity": round(part.shade * solidity(part.confidence)),
  };
}

// The tags at each node: the hints that are one of the nodes.
export function tagsByNode(trace, looks, side, moment) {
  const found = new Map();
  for (const feature of looks.drawn(moment, "tag", side)) {
    const [node] = trace.values(side, feature, moment);
    if (node < 0) continue;
    if (!found.has(node)) found.set(node, []);
    found.get(node).push({
      text: feature.name,
      wrong: trace.wrong(side, feature, moment).size > 0,
      confidence: trace.confidence(side, feature, moment)?.[0],
    });
  }
  return found;
}

// The pointers that arrows show, each with the turn of its feature: not those to a node itself, or
// to none.
export function pointersOf(trace, looks, side, moment) {
  return looks.drawn(moment, "arrow", side).flatMap((feature, turn) => {
    const colour = looks.colour(feature);
    const wrong = trace.wrong(side, feature, moment);
    const confidence = trace.confidence(side, feature, moment);
    return trace.values(side, feature, moment).flatMap((to, from) => {
      if (to === from || to < 0) return [];
      const look = { colour, wrong: wrong.has(from), confidence: confidence?.[from] };
      return { from, to, turn, look };
    });
  });
}

const TAG_HEIGHT = 16;
export const TAG_LINE = TAG_HEIGHT + 2;

// Tags side by side, around a point.
export function tagRow(tags, x, y, [left, right]) {
  const widths = tags.map((tag) => tagWidth(tag) + 3);
  const whole = widths.reduce((sum, width) => sum + width, 0);
  let next = Math.max(left, Math.min(right - whole, x - whole / 2));
  return shape(
    "g",
    {},
    tags.map((tag, turn) => pill(tag, (next += widths[turn]) - widths[turn], y)),
  );
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
    { class: `tag ${tag.wrong ? "wrong" : ""}`, opacity: round(solidity(tag.confidence)) },
    shape("rect", {
      x: round(x),
      y: round(y),
      width: round(width),
      height: TAG_HEIGHT,
      rx: TAG_HEIGHT / 2,
    }),
    shape("text", { x: round(x + width / 2), y: round(y + 11) }, label(tag)),
  );
}

function tagWidth(tag) {
  return 6.4 * label(tag).length + 9;
}

function label(tag) {
  return tag.wrong ? `${tag.text} ×` : tag.text;
}

// Everything about a node, for those who point at it.
export function about(trace, side, moment, node) {
  const lines = [`node ${trace.data.names[node]}`];
  for (const feature of trace.at(moment).filter((each) => each.location === "node")) {
    const values = trace.values(side, feature, moment);
    if (feature.kind !== "mask_one") lines.push(told(trace, side, feature, moment, node));
    else if (values[0] === node) lines.push(`${feature.name} is here`);
  }
  return lines.join("\n");
}

// A value of a feature, how sure the net is of it, and what it should be if it is wrong.
export function told(trace, side, feature, moment, place) {
  const value = trace.values(side, feature, moment)[place];
  const confidence = trace.confidence(side, feature, moment)?.[place];
  const truth = trace.values("algorithm", feature, moment)[place];
  const sure = confidence === undefined ? "" : ` (${confidence} % sure)`;
  const wrong = trace.wrong(side, feature, moment).has(place);
  const instead = wrong ? `, should be ${trace.text(feature, truth)}` : "";
  return `${feature.name}: ${trace.text(feature, value)}${sure}${instead}`;
}

// Whether anything that is drawn of a node, other than arrows and tags, is wrong.
export function nodeIsWrong(trace, looks, side, moment, node) {
  return ["fill", "shade"].some((role) =>
    looks.drawn(moment, role, side).some((feature) => trace.wrong(side, feature, moment).has(node)),
  );
}
