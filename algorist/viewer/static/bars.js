// Arrays as bars.

import { shape, titled } from "./dom.js";
import { WIDTH } from "./layout.js";
import { chainOrder } from "./looks.js";
import { about, nodeIsWrong, partLook, partsOf, round } from "./marks.js";
import { ARROWS, Row } from "./row.js";
import { short } from "./trace.js";

const FEW = 18; // nodes, for which there is room for digits
const ROOM_FOR_NAME = 9;
const ROOM_FOR_CROSS = 12;

export class BarsPicture extends Row {
  constructor(trace, looks, side, { small = false } = {}) {
    super(trace, looks, side, small ? 70 : 150);
    this.series = trace.inputs.filter(isSeries);
    this.ranges = trace.has("s") && trace.has("f") && this.series.length === 2;
    this.slot = WIDTH / trace.nodes;
    this.gap = Math.min(3, this.slot / 8);
    this.inPlace();
    const [first, second] = this.series.map((feature) => feature.name);
    const axis = this.ranges ? "↑ time" : second ? `left ${first}, right ${second}` : "";
    this.svg.append(shape("text", { class: "axis", x: 2, y: ARROWS + 6 }, axis));
  }

  inPlace() {
    this.order = this.trace.data.names.map((_, node) => node);
    this.chained = this.trace.nodes;
  }

  // In sorts the bars stand in the order that the pointers have come to, as far as they chain them.
  place(moment) {
    const { trace, looks } = this;
    const answer = trace.outputs.find((output) => output.kind === "should_be_permutation");
    const feature = moment < trace.steps ? looks.order : looks.order && answer;
    if (!feature) return this.inPlace();
    const { order, chained } = chainOrder(trace.values(this.side, feature, moment));
    this.chained = chained;
    order.forEach((node, place) => (this.order[node] = place));
  }

  corner(node) {
    return { x: this.order[node] * this.slot, y: 0 };
  }

  centre(node) {
    return { x: (this.order[node] + 0.5) * this.slot };
  }

  node(moment, node) {
    const { trace, looks, side, slot } = this;
    const loose = this.order[node] >= this.chained;
    const wrong = nodeIsWrong(trace, looks, side, moment, node) || this.misplaced(moment, node);
    const filled = partsOf(trace, looks, side, moment, node);
    const boxes = this.boxes(node);
    const [shade] = looks.drawn(moment, "shade", side);
    const parts = [
      titled(about(trace, side, moment, node)),
      boxes.map((box, turn) => shape("rect", { class: `back series${turn}`, ...box })),
      filled.map((part, turn) => this.part(boxes.at(-1), part, turn, filled.length)),
      boxes.map((box) => shape("rect", { class: "outline", ...box })),
      shade ? this.number(shade, moment, node) : this.key(boxes, node),
      slot >= ROOM_FOR_NAME &&
        this.text("name", this.base + 15, trace.data.names[node].slice(0, 4)),
      wrong && slot >= ROOM_FOR_CROSS && this.cross(boxes),
    ];
    return { kind: `bar ${loose ? "loose" : ""} ${wrong ? "wrong" : ""}`, parts };
  }

  // In an order, a bar is wrong if what it points to is.
  misplaced(moment, node) {
    const { order } = this.looks;
    return (
      order && moment < this.trace.steps && this.trace.wrong(this.side, order, moment).has(node)
    );
  }

  // One bar for each number of a node, or a single one from its start to its end.
  boxes(node) {
    const all = this.series.map((feature) => this.trace.input(feature.name));
    if (this.ranges) return [this.box(all.flat(), all[0][node], all[1][node], 0, 1)];
    return all.map((values, turn) => this.box([0, ...values], 0, values[node], turn, all.length));
  }

  // A box between two values on the scale of all, in its share of the node's place.
  box(all, from, to, turn, count) {
    const low = Math.min(...all);
    const height = this.base - ARROWS - 22;
    const level = (value) => this.base - ((value - low) / (Math.max(...all) - low || 1)) * height;
    const width = (this.slot - 2 * this.gap) / count;
    const top = level(Math.max(from, to));
    return {
      x: round(this.gap + turn * width),
      y: round(top),
      width: round(Math.max(width - 0.5, 1)),
      height: round(Math.max(level(Math.min(from, to)) - top, 1.5)),
      rx: round(Math.min(3, this.slot / 8)),
    };
  }

  part(box, part, turn, count) {
    const width = box.width / count;
    return shape("rect", {
      ...box,
      ...partLook(part),
      x: round(box.x + turn * width),
      width: round(width),
    });
  }

  text(kind, y, text) {
    return shape("text", { class: kind, x: round(this.slot / 2), y: round(y) }, text);
  }

  key([box], node) {
    if (this.trace.nodes > FEW || this.series.length !== 1) return null;
    return this.text("value", box.y - 5, short(this.trace.input(this.series[0].name)[node]));
  }

  // A number that the steps change stands where the key would.
  number(feature, moment, node) {
    if (this.trace.nodes > FEW) return null;
    const value = this.trace.values(this.side, feature, moment)[node];
    const wrong = this.trace.wrong(this.side, feature, moment).has(node);
    return this.text(
      wrong ? "value wrong" : "value",
      ARROWS + 14,
      `${feature.name} ${short(value)}`,
    );
  }

  cross(boxes) {
    const digits = this.trace.nodes > FEW ? 4 : 17;
    return this.text("mark", Math.min(...boxes.map((box) => box.y)) - digits, "×");
  }
}

export function isSeries(feature) {
  return feature.location === "node" && feature.kind === "scalar" && feature.name !== "pos";
}
