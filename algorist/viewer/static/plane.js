// Pictures in the plane: nodes at places of their own, arrows between them, tags around them.

import { shape, titled } from "./dom.js";
import { allAround, Labels } from "./labels.js";
import {
  arrow,
  at,
  bentMiddle,
  classes,
  confidenceBar,
  cross,
  HEAD,
  round,
  tagRow,
  tagsSize,
  towards,
} from "./marks.js";
import { Picture } from "./picture.js";
import { mean } from "./trace.js";

const FEW_NODES = 20; // for which there is room for digits
const SHORT_NAME = 3;
const LONG_NAME = 10;
const NUMBER = { width: 40, height: 13 };
const UP = -Math.PI / 2;
export const RING = 5; // how far the ring around a source is from it

// Whoever extends it has `placed()`, which puts the nodes into the room that there is, and draws what
// lies under them: `under()` when the size has changed, `between(moment)` at each moment.
export class Plane extends Picture {
  constructor(scene, radius, least = 3) {
    super(scene, "plane");
    Object.assign(this, { most: radius, smallest: least });
    [this.below, this.moving, this.above, this.disks, this.pills] = [1, 2, 3, 4, 5].map(() =>
      shape("g", {}),
    );
    this.svg.append(this.below, this.moving, this.above, this.disks, this.pills);
  }

  wanted(width) {
    return Math.min(width * 1.3, 640);
  }

  get least() {
    return 140;
  }

  // Room for numbers and tags around the outermost nodes: beside, above and below.
  get margins() {
    return [this.largest + (this.hasNumbers ? 34 : 24), this.largest + 26, this.largest + 26];
  }

  // Small pictures have small nodes.
  get largest() {
    return Math.max(this.smallest, Math.min(this.most, this.height / 13));
  }

  lay() {
    this.places = this.placed();
    this.radius = Math.max(this.smallest, Math.min(this.largest, nearest(this.places) / 2 - 1));
    this.labels = new Labels(this.width, this.height);
    for (const { x, y } of this.places) this.labels.cover(boxAround(x, y, this.radius + 2));
    this.below.replaceChildren(...this.under());
    this.nodes = this.places.map((place) => {
      const tip = titled("");
      const group = shape("g", { transform: `translate(${at(place)})` }, tip);
      return { group, tip };
    });
    this.disks.replaceChildren(...this.nodes.map(({ group }) => group));
  }

  under() {
    return [];
  }

  // Where the numbers of nodes are written, the same places all the time: away from the middle of
  // the picture if that is free.
  placeNumbers() {
    this.avoidArrows();
    const [x, y] = ["x", "y"].map((axis) => mean(this.places.map((place) => place[axis])));
    this.numbers = this.places.map((place, node) => {
      const distance = this.radius + (node === this.ringed ? RING + 2 : 3);
      const outwards = Math.atan2(place.y - y, place.x - x);
      return this.labels.place(allAround(place, distance, NUMBER, outwards));
    });
  }

  // The arrows that the algorithm draws at some step, each in two straight pieces.
  avoidArrows() {
    const { trace, looks } = this.scene;
    const pairs = new Set();
    for (let moment = 0; moment <= trace.answer; moment++) {
      for (const feature of looks.drawn(moment, "arrow"))
        trace.values("algorithm", feature, moment).forEach((to, from) => {
          if (to >= 0 && to !== from) pairs.add(from * trace.nodes + to);
        });
    }
    for (const pair of pairs) {
      const nodes = [Math.floor(pair / trace.nodes), pair % trace.nodes];
      const [from, to] = nodes.map((node) => this.places[node]);
      const opposed = pairs.has(nodes[1] * trace.nodes + nodes[0]);
      const middle = bentMiddle(from, to, this.bend(...nodes, opposed) / 2);
      this.labels.avoid(from, middle);
      this.labels.avoid(middle, to);
    }
  }

  get hasNumbers() {
    const { trace, looks } = this.scene;
    return (
      trace.nodes <= FEW_NODES &&
      trace.features.some((feature) => looks.role(feature) === "shade" && feature.stage !== "input")
    );
  }

  draw(moment) {
    this.moving.replaceChildren(...this.between(moment), ...this.arrows(moment));
    this.nodes.forEach((drawn, node) => this.node(drawn, moment, node));
    this.pills.replaceChildren(...this.tags(moment));
  }

  between() {
    return [];
  }

  arrows(moment) {
    const pointers = this.scene.pointers(moment);
    const pairs = new Set(pointers.map(({ from, to }) => `${from} ${to}`));
    this.heads = [];
    return pointers.map(({ from, to, turn, look }) => {
      const gaps = [this.radius + 1, this.radius + 2 + (to === this.ringed ? RING : 0)];
      const bend = this.bend(from, to, pairs.has(`${to} ${from}`)) + 0.1 * turn;
      const width = this.arrowWidth(moment, look);
      this.heads.push(headBox(this.places[from], this.places[to], bend, gaps[1]));
      return arrow(this.places[from], this.places[to], { ...look, bend, gaps, width });
    });
  }

  // Straight, unless another arrow goes the other way.
  bend(from, to, opposed) {
    return opposed ? 0.16 : 0;
  }

  arrowWidth(moment, { truth }) {
    return truth ? 5 : 2.6;
  }

  // A node is drawn anew only if it looks other than before: of many, few do at each step.
  node(drawn, moment, node) {
    const { scene, radius } = this;
    const role = scene.role(moment, node);
    const number = scene.number(moment, node);
    drawn.tip.textContent = scene.about(moment, node);
    const look = JSON.stringify([role, number?.text, number?.wrong]);
    if (look === drawn.look) return;
    drawn.look = look;
    const wrong = role.wrong || (number?.wrong ?? false);
    drawn.group.setAttribute("class", classes(`node ${role.style}`, { wrong }));
    const parts = [
      drawn.tip,
      role.truth && shape("circle", { r: radius + 4, class: `should ${role.truth}` }),
      shape("circle", { r: radius, class: "back" }),
      radius >= 12 && confidenceBar(role.confidence, -9, radius - 8, 18),
      this.name(node),
      number && this.number(node, number),
      wrong && cross(radius * 0.8, -radius * 0.8, radius > 8 ? 6 : 4),
    ];
    drawn.group.replaceChildren(...parts.filter(Boolean));
  }

  // Within the circle or, if it is longer, over it.
  name(node) {
    const name = this.trace.data.names[node];
    const long = name.length > SHORT_NAME;
    if (this.radius < 8) return null;
    const text = name.length > LONG_NAME ? `${name.slice(0, LONG_NAME - 1)}…` : name;
    const size = long || this.radius < 12 ? 11 : 13;
    return shape("text", { class: classes("name", { long }), dy: "0.35em", "font-size": size }, text);
  }

  // Beside the node, in its own place.
  number(node, { text, wrong, off }) {
    if (!this.numbers) return null;
    const { x, y, width, anchor } = this.numbers[node];
    const place = this.places[node];
    const along = { start: 0, middle: width / 2, end: width }[anchor];
    return shape(
      "text",
      {
        class: classes(`number ${anchor}`, { wrong, off }),
        x: round(x + along - place.x),
        y: round(y + 10.5 - place.y),
      },
      text,
    );
  }

  tags(moment) {
    const labels = this.labels.copy();
    for (const head of this.heads) labels.cover(head);
    return [...this.scene.tags(moment)].flatMap(([node, tags]) => {
      const size = tagsSize(tags);
      const rings = [0, 15, 30].flatMap((far) =>
        allAround(this.places[node], this.radius + 3 + far, size, UP).map((box) => ({ ...box, far: far / 2 })),
      );
      const { x, y } = labels.place(rings);
      return tagRow(tags, x, y);
    });
  }
}

export function radiusFor(n) {
  return n <= 10 ? 17 : n <= 16 ? 15 : n <= 24 ? 13 : n <= 40 ? 10 : 8;
}

function boxAround(x, y, radius) {
  return { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius };
}

// Where the head of an arrow is.
export function headBox(from, to, bend, gap) {
  const { x, y } = towards(to, bentMiddle(from, to, bend), gap + HEAD / 2);
  return boxAround(x, y, HEAD / 2);
}

// How near two points come to each other.
function nearest(points) {
  let least = Infinity;
  points.forEach((a, i) => {
    for (const b of points.slice(0, i)) least = Math.min(least, Math.hypot(a.x - b.x, a.y - b.y));
  });
  return least;
}
