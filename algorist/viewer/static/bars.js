// Arrays as bars, strings as cells: nodes side by side, arrows over them, tags below.

import { shape, titled } from "./dom.js";
import { about, arrow, nodeIsWrong, parts, round, solidity, TAG_LINE, tagLines, tagsByNode } from "./marks.js";
import { WIDTH } from "./layout.js";
import { chainOrder } from "./looks.js";
import { short } from "./trace.js";

const ARROWS = 64;
const FEW = 18;

// Nodes in a row: what bars and cells have in common.
class Row {
  constructor(trace, looks, side, height) {
    Object.assign(this, { trace, looks, side });
    this.top = 0;
    this.base = ARROWS + height;
    this.bottom = this.base + 20;
    this.nodes = shape("g", {});
    this.over = shape("g", {});
    this.svg = shape("svg", { class: "picture row", role: "img" }, this.nodes, this.over);
  }

  draw(moment) {
    const top = this.looks.count("arrow") ? this.top : ARROWS - 6;
    const tags = Math.min(4, this.looks.count("tag")) * TAG_LINE + 6;
    this.svg.setAttribute("viewBox", `0 ${top} ${WIDTH} ${this.bottom + tags - top}`);
    this.place(moment);
    this.nodes.replaceChildren(...this.trace.data.names.map((_, node) => this.node(moment, node)));
    this.over.replaceChildren(...this.arrows(moment), ...this.tags(moment));
  }

  arrows(moment) {
    const { trace, looks, side } = this;
    return looks.drawn(moment, "arrow").flatMap((feature) => {
      const wrong = trace.wrong(side, feature, moment);
      const confidence = trace.confidence(side, feature, moment);
      return trace.values(side, feature, moment).map((to, from) =>
        to === from || to < 0 ? null : this.arc(from, to, {
          colour: looks.colour(feature), wrong: wrong.has(from), confidence: confidence?.[from],
        }),
      ).filter(Boolean);
    });
  }

  arc(from, to, look) {
    const [start, end] = [this.centre(from), this.centre(to)];
    const [a, b] = [{ x: start.x, y: ARROWS - 8 }, { x: end.x, y: ARROWS - 8 }];
    const distance = Math.abs(b.x - a.x) || 1;
    const rise = Math.min(2 * (ARROWS - 12), 18 + 0.5 * distance);
    const bend = (rise / distance) * (b.x > a.x ? -1 : 1); // upwards
    return arrow(a, b, { ...look, bend, width: 1.8 });
  }

  tags(moment) {
    const found = [...tagsByNode(this.trace, this.looks, this.side, moment)].map(([node, tags]) => {
      const { x, y = this.bottom } = this.centre(node);
      return { x, y: y + 5, tags };
    });
    const pins = found.map(({ x, y }) => shape("path", { class: "pin", d: `M${round(x)},${round(y - 5)} l-4,5 h8 z` }));
    const heights = [...new Set(found.map(({ y }) => y))]; // lines of text have tags of their own
    return [...pins, ...heights.flatMap((height) => tagLines(found.filter(({ y }) => y === height), [0, WIDTH]))];
  }
}

export class BarsPicture extends Row {
  constructor(trace, looks, side, { small = false } = {}) {
    super(trace, looks, side, small ? 70 : 150);
    this.series = trace.inputs.filter((f) => f.location === "node" && f.kind === "scalar" && f.name !== "pos");
    this.ranges = trace.has("s") && trace.has("f") && this.series.length === 2;
    this.slot = WIDTH / trace.nodes;
    this.order = trace.data.names.map((_, node) => node);
    this.chained = trace.nodes;
    const [first, second] = this.series.map((feature) => feature.name);
    const axis = this.ranges ? "↑ time" : second ? `left ${first}, right ${second}` : "";
    this.svg.append(shape("text", { class: "axis", x: 2, y: ARROWS + 6 }, axis));
  }

  // In sorts the bars stand in the order that the pointers have come to, as far as they chain them.
  place(moment) {
    const feature = moment < this.trace.steps ? this.looks.order : this.trace.outputs.find((f) => f.kind === "should_be_permutation");
    if (!this.looks.order || !feature) return this.inPlace();
    const { order, chained } = chainOrder(this.trace.values(this.side, feature, moment));
    this.chained = chained;
    order.forEach((node, place) => (this.order[node] = place));
  }

  inPlace() {
    this.order = this.trace.data.names.map((_, node) => node);
    this.chained = this.trace.nodes;
  }

  centre(node) {
    return { x: (this.order[node] + 0.5) * this.slot };
  }

  node(moment, node) {
    const { trace, looks, side, slot } = this;
    const left = this.order[node] * slot;
    const loose = this.order[node] >= this.chained;
    const wrong = nodeIsWrong(trace, looks, side, moment, node) || this.misplaced(moment, node);
    const filled = parts(trace, looks, side, moment, node);
    const bars = this.series.map((feature, turn) => this.extent(feature, turn, node));
    const [shade] = looks.drawn(moment, "shade");
    return shape(
      "g",
      { class: `bar ${loose ? "loose" : ""} ${wrong ? "wrong" : ""}`, transform: `translate(${round(left)},0)` },
      titled(about(trace, side, moment, node)),
      bars.map((bar) => shape("rect", { class: `back series${bar.turn}`, ...bar.box })),
      bars.length ? filled.map((part, turn) => this.part(bars.at(-1).box, part, turn, filled.length)) : [],
      bars.map((bar) => shape("rect", { class: "outline", ...bar.box })),
      shade ? this.number(shade, moment, node) : this.value(bars, node),
      slot >= 9 ? shape("text", { class: "name", x: round(slot / 2), y: this.base + 15 }, trace.data.names[node].slice(0, 4)) : null,
      wrong && slot >= 12 ? shape("text", { class: "mark", x: round(slot / 2), y: round(Math.min(...bars.map((bar) => bar.box.y), this.base) - (trace.nodes > FEW ? 4 : 17)) }, "×") : null,
    );
  }

  // In an order, a bar is wrong if what it points to is.
  misplaced(moment, node) {
    const { order } = this.looks;
    return order && moment < this.trace.steps && this.trace.wrong(this.side, order, moment).has(node);
  }

  extent(feature, turn, node) {
    const { slot, base } = this;
    const values = this.trace.input(feature.name);
    const height = base - ARROWS - 22;
    const gap = Math.min(3, slot / 8);
    if (this.ranges) return { turn: "range", box: this.range(node, height, gap) };
    const low = Math.min(0, ...values);
    const span = Math.max(0, ...values) - low || 1;
    const level = (value) => base - ((value - low) / span) * height;
    const [top, bottom] = [level(Math.max(values[node], 0)), level(Math.min(values[node], 0))];
    const width = (slot - 2 * gap) / this.series.length;
    return {
      turn,
      box: { x: round(gap + turn * width), y: round(top), width: round(Math.max(width - 0.5, 1)), height: round(Math.max(bottom - top, 1.5)), rx: round(Math.min(3, slot / 8)) },
    };
  }

  // From s to f, upwards.
  range(node, height, gap) {
    const [starts, ends] = [this.trace.input("s"), this.trace.input("f")];
    const low = Math.min(...starts);
    const span = Math.max(...ends) - low || 1;
    const level = (value) => this.base - ((value - low) / span) * height;
    return {
      x: round(gap), y: round(level(ends[node])), width: round(this.slot - 2 * gap),
      height: round(Math.max(level(starts[node]) - level(ends[node]), 3)), rx: round(Math.min(3, this.slot / 8)),
    };
  }

  part(box, part, turn, count) {
    const width = box.width / count;
    return shape("rect", {
      ...box, x: round(box.x + turn * width), width: round(width),
      class: `part ${part.colour} ${part.wrong ? "wrong" : ""}`, "fill-opacity": round(part.shade * solidity(part.confidence)),
    });
  }

  value(bars, node) {
    if (this.trace.nodes > FEW || this.series.length !== 1) return null;
    const text = short(this.trace.input(this.series[0].name)[node]);
    return shape("text", { class: "value", x: round(this.slot / 2), y: round(bars[0].box.y - 5) }, text);
  }

  // A number that the steps change stands where the key would.
  number(feature, moment, node) {
    const value = this.trace.values(this.side, feature, moment)[node];
    const wrong = this.trace.wrong(this.side, feature, moment).has(node);
    if (this.trace.nodes > FEW) return null;
    return shape("text", { class: `value ${wrong ? "wrong" : ""}`, x: round(this.slot / 2), y: ARROWS + 14 }, `${feature.name} ${short(value)}`);
  }
}

export class StringsPicture extends Row {
  constructor(trace, looks, side) {
    super(trace, looks, side, 118);
    this.top = ARROWS - 34;
    const second = trace.input("string");
    this.start = second.indexOf(1);
    const longest = Math.max(this.start, trace.nodes - this.start);
    this.size = Math.min(32, WIDTH / longest);
    const named = trace.data.names.every((name) => name.length === 1 && !/\d/.test(name));
    this.letters = named ? trace.data.names : trace.input("key").map((letter) => "abcd"[letter]);
  }

  place() {}

  corner(node) {
    const second = node >= this.start;
    const count = second ? this.trace.nodes - this.start : this.start;
    const left = (WIDTH - Math.max(count, this.start) * this.size) / 2;
    return { x: left + (second ? node - this.start : node) * this.size, y: ARROWS + (second ? 82 : 0) };
  }

  centre(node) {
    const { x, y } = this.corner(node);
    return { x: x + this.size / 2, y: y + this.size + 2 };
  }

  arc(from, to, look) {
    const [a, b] = [from, to].map((node) => ({ x: this.centre(node).x, y: this.corner(node).y - 1 }));
    const distance = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const bend = Math.min(0.9, 36 / distance) * (b.x >= a.x ? -1 : 1);
    return arrow(a, b, { ...look, bend, width: 1.6 });
  }

  node(moment, node) {
    const { trace, looks, side, size } = this;
    const { x, y } = this.corner(node);
    const wrong = nodeIsWrong(trace, looks, side, moment, node);
    const filled = parts(trace, looks, side, moment, node);
    const box = { width: round(size - 2), height: round(size - 2), rx: 4 };
    return shape(
      "g",
      { class: `cell letter${this.trace.input("key")[node]} ${wrong ? "wrong" : ""}`, transform: `translate(${round(x + 1)},${round(y)})` },
      titled(about(trace, side, moment, node)),
      shape("rect", { class: "back", ...box }),
      size >= 20 ? shape("text", { class: "place", x: 6, y: 8 }, String(node)) : null,
      filled.map((part) => shape("rect", { ...box, class: `part ${part.colour} ${part.wrong ? "wrong" : ""}`, "fill-opacity": round(part.shade * solidity(part.confidence)) })),
      shape("text", { x: round(size / 2 - 1), y: round(size / 2 - 1), dy: "0.35em", "font-size": round(Math.min(15, size * 0.6)) }, this.letters[node]),
    );
  }
}
