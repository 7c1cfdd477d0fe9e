// Pictures in the plane: nodes at places of their own, arrows between them, tags above.

import { shape, titled } from "./dom.js";
import { HEIGHT, WIDTH } from "./layout.js";
import {
  about,
  arrow,
  at,
  nodeIsWrong,
  partLook,
  partsOf,
  pointersOf,
  round,
  solidity,
  tagRow,
  tagsByNode,
} from "./marks.js";
import { short } from "./trace.js";

const FEW_NODES = 20; // for which there is room for digits
const SHORT_NAME = 3;
const LONG_NAME = 10;

// Whoever extends it draws what lies under the nodes: once, and between() at each moment.
export class Plane {
  constructor(trace, looks, side, places, radius) {
    Object.assign(this, { trace, looks, side, places, radius });
    this.under = shape("g", {});
    this.over = shape("g", {});
    this.svg = shape(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "picture plane", role: "img" },
      this.under,
      this.over,
    );
  }

  draw(moment) {
    const nodes = this.places.map((_, node) => this.node(moment, node));
    this.over.replaceChildren(
      ...this.between(moment),
      ...this.arrows(moment),
      ...nodes,
      ...this.tags(moment),
    );
  }

  between() {
    return [];
  }

  arrows(moment) {
    const { trace, looks, side, places, radius } = this;
    const gaps = [radius + 1, radius + 3];
    return pointersOf(trace, looks, side, moment).map(({ from, to, turn, look }) =>
      arrow(places[from], places[to], { ...look, bend: 0.12 + 0.1 * turn, gaps }),
    );
  }

  node(moment, node) {
    const { trace, looks, side, radius } = this;
    const wrong = nodeIsWrong(trace, looks, side, moment, node);
    const [shade] = looks.drawn(moment, "shade", side);
    const filled = partsOf(trace, looks, side, moment, node);
    const dark = ({ shade, confidence, colour }) =>
      colour !== "amber" && shade * solidity(confidence) > 0.5;
    const kind = filled.length === 1 && dark(filled[0]) ? "node strong" : "node";
    return shape(
      "g",
      { class: kind, transform: `translate(${at(this.places[node])})` },
      titled(about(trace, side, moment, node)),
      shape("circle", { r: radius, class: "back" }),
      filled.map((part, turn) => sector(radius, turn, filled.length, part)),
      shape("circle", { r: radius, class: "ring" }),
      shade ? this.ring(shade, moment, node) : null,
      wrong ? cross(radius) : null,
      this.name(node),
    );
  }

  // Within the circle or, if it is longer, over it.
  name(node) {
    const name = this.trace.data.names[node];
    const long = name.length > SHORT_NAME;
    const text = name.length > LONG_NAME ? `${name.slice(0, LONG_NAME - 1)}…` : name;
    const look = { class: long ? "name long" : "name", dy: "0.35em" };
    return shape("text", { ...look, "font-size": Math.min(long ? 11 : 13, this.radius) }, text);
  }

  // A number: a ring, the darker the larger, and its digits where there is room for them.
  ring(feature, moment, node) {
    const value = this.trace.values(this.side, feature, moment)[node];
    const wrong = this.trace.wrong(this.side, feature, moment).has(node);
    const digits = this.trace.nodes <= FEW_NODES;
    return shape(
      "g",
      { class: `shade ${wrong ? "wrong" : ""}` },
      shape("circle", {
        r: this.radius + 2.5,
        "stroke-opacity": round(0.08 + 0.92 * this.trace.share(feature, value)),
      }),
      digits ? shape("text", { y: this.radius + 15 }, short(value)) : null,
    );
  }

  tags(moment) {
    const found = tagsByNode(this.trace, this.looks, this.side, moment);
    return [...found].map(([node, tags]) => {
      const { x, y } = this.places[node];
      const above = y - this.radius - 20 > 0;
      return tagRow(tags, x, above ? y - this.radius - 20 : y + this.radius + 18, [0, WIDTH]);
    });
  }
}

export function radiusFor(n) {
  return n <= 10 ? 18 : n <= 16 ? 16 : n <= 24 ? 13 : n <= 40 ? 10 : 8;
}

// Room for numbers and tags around the outermost nodes.
export function margins(radius) {
  return [radius + 10, radius + 22];
}

// One of the parts into which masks and classes divide a node.
function sector(radius, turn, count, part) {
  if (count === 1) return shape("circle", { ...partLook(part), r: radius });
  const [from, to] = [turn, turn + 1].map((k) => {
    const angle = (2 * Math.PI * k) / count - Math.PI / 2;
    return at({ x: radius * Math.cos(angle), y: radius * Math.sin(angle) });
  });
  return shape("path", {
    ...partLook(part),
    d: `M0,0 L${from} A${radius},${radius} 0 0 1 ${to} Z`,
  });
}

// The badge of a node of which something is wrong.
function cross(radius) {
  const corner = { x: radius * 0.78, y: -radius * 0.78 };
  return shape(
    "g",
    { class: "cross", transform: `translate(${at(corner)})` },
    shape("circle", { r: radius > 8 ? 6 : 4 }),
    radius > 8 ? shape("path", { d: "M-2.6,-2.6 L2.6,2.6 M2.6,-2.6 L-2.6,2.6" }) : null,
  );
}
