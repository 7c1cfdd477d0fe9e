// Arrays as bars.

import { shape, titled } from "./dom.js";
import { chainOrder } from "./looks.js";
import { classes, confidenceBar, cross, round, textWidth } from "./marks.js";
import { Row } from "./row.js";
import { largestSize, short, shortAmong } from "./trace.js";

const NAME_LINE = 16; // the height of the line of names

export class BarsPicture extends Row {
  constructor(scene) {
    super(scene, "bars");
    this.series = this.trace.inputs.filter(isSeries);
    this.chained = this.trace.nodes;
    this.inPlace();
  }

  wanted(width) {
    return Math.min(330, width * 0.62) + this.tagRoom;
  }

  lay() {
    this.slot = this.width / this.trace.nodes;
    this.gap = Math.min(3, this.slot / 8);
    this.head = this.arrowRoom + 32; // for digits, and a cross over them
    this.base = this.height - this.tagRoom - NAME_LINE;
    const all = this.series.map((feature) => this.trace.input(feature.name));
    this.scales = all.map((values) => this.scale([0, ...values, ...this.targets]));
    this.written = all.map((values) => values.map((value) => shortAmong(value, largestSize(values))));
    this.digits = Math.max(...this.written.flat().map((text) => textWidth(text))) < this.slot - 1;
  }

  // Numbers of the whole problem that are compared with the bars.
  get targets() {
    if (this.series.length !== 1) return [];
    const isNumber = ({ location, kind }) => location === "graph" && kind === "scalar";
    return this.trace.inputs.filter(isNumber).map(({ name }) => this.trace.input(name)[0]);
  }

  // From a number to its height.
  scale(all) {
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const foot = low < 0 ? 14 : 0; // for the digits of bars that hang
    const room = this.base - this.head - foot;
    return (value) => this.base - foot - ((value - low) / (high - low || 1)) * room;
  }

  inPlace() {
    this.order = this.trace.data.names.map((_, node) => node);
    this.chained = this.trace.nodes;
  }

  // In sorts the bars stand in the order that the pointers have come to, as far as they chain them.
  place(moment) {
    const { trace, scene } = this;
    const { looks, side } = scene;
    const answer = trace.outputs.find((output) => output.kind === "should_be_permutation");
    const feature = moment < trace.steps ? looks.order : looks.order && answer;
    if (!feature) return this.inPlace();
    const { order, chained } = chainOrder(trace.values(side, feature, moment));
    this.chained = chained;
    order.forEach((node, place) => (this.order[node] = place));
  }

  corner(node) {
    return { x: this.order[node] * this.slot, y: 0 };
  }

  centre(node) {
    return { x: (this.order[node] + 0.5) * this.slot, y: this.base + NAME_LINE };
  }

  top(node) {
    return { x: this.centre(node).x, y: this.arrowRoom };
  }

  // What is a stretch of bars is shaded as one; numbers of the whole problem are lines.
  behind(moment) {
    const roles = this.scene
      .shownRoles(moment)
      .filter(({ style, features }) => style === "done" && features.length === 2);
    const bands = roles.map((role) => this.band(role, moment)).filter(Boolean);
    const lines = this.targets.map((value) => {
      const y = round(this.scales[0](value));
      return shape("path", { class: "level", d: `M0,${y} H${this.width}` }, titled(short(value)));
    });
    return [...bands, ...lines];
  }

  band(role, moment) {
    const nodes = this.trace.roleNodes(role, this.scene.side, moment);
    if (!nodes.length || this.scene.onlyDifferences) return null;
    const places = nodes.map((node) => this.order[node]);
    const first = Math.min(...places);
    const look = { x: round(first * this.slot), y: this.head - 18, height: this.base - this.head + 18 };
    const width = round((Math.max(...places) - first + 1) * this.slot);
    return shape("rect", { class: "band", ...look, width, rx: 4 });
  }

  node(moment, node) {
    const { scene, slot } = this;
    const role = scene.role(moment, node);
    const wrong = role.wrong || this.misplaced(moment, node);
    const loose = this.order[node] >= this.chained;
    const boxes = this.series.map((feature, turn) => this.box(feature, node, turn));
    const top = Math.min(...boxes.map((box) => box.y));
    const parts = [
      titled(scene.about(moment, node)),
      boxes.map((box, turn) => shape("rect", { class: `back series${turn}`, ...box })),
      role.truth && this.should(role.truth),
      this.values(moment, node, boxes),
      confidenceBar(slot >= 14 ? role.confidence : undefined, 3, this.base + 1, slot - 6),
      slot >= 14 && this.text("name", this.base + 13, this.trace.data.names[node].slice(0, 4)),
      wrong && slot >= 22 && cross(slot / 2, Math.max(top - 23, this.arrowRoom + 7), 6),
    ];
    return { kind: classes(`bar ${role.style}`, { loose, wrong }), parts };
  }

  // The role that a bar should have, as a foot below it.
  should(style) {
    const { gap, slot, base } = this;
    const box = { x: round(gap), y: base - 7, width: round(slot - 2 * gap), height: 7 };
    return shape("rect", { class: `should ${style}`, ...box });
  }

  // In an order, a bar is wrong if what it points to is.
  misplaced(moment, node) {
    const { trace, scene } = this;
    const { order } = scene.looks;
    return Boolean(
      order && moment < trace.steps && trace.wrong(scene.side, order, moment).has(node),
    );
  }

  // A bar for each number of a node, from zero.
  box({ name }, node, turn) {
    const level = this.scales[turn];
    const value = this.trace.input(name)[node];
    const width = (this.slot - 2 * this.gap) / this.series.length;
    const [top, foot] = [level(Math.max(value, 0)), level(Math.min(value, 0))];
    return {
      x: round(this.gap + turn * width),
      y: round(top),
      width: round(Math.max(width - 0.5, 1)),
      height: round(Math.max(foot - top, 1.5)),
      rx: round(Math.min(3, this.slot / 8)),
    };
  }

  text(kind, y, text, x = this.slot / 2) {
    return shape("text", { class: kind, x: round(x), y: round(y) }, text);
  }

  // The digits of a bar over it, or below one that hangs; a number that steps change has its place.
  values(moment, node, boxes) {
    const changing = this.scene.number(moment, node);
    if (changing && this.digits) {
      const { text, wrong, off } = changing;
      return this.text(classes("value", { wrong, off }), this.head - 6, text);
    }
    const room = textWidth("0.00") * this.series.length < this.slot;
    if (!(this.series.length === 1 ? this.digits : room)) return null;
    return boxes.map((box, turn) => {
      const value = this.trace.input(this.series[turn].name)[node];
      const y = value < 0 ? box.y + box.height + 12 : box.y - 4;
      return this.text("value", y, this.written[turn][node], box.x + box.width / 2);
    });
  }
}

export function isSeries(feature) {
  return feature.location === "node" && feature.kind === "scalar" && feature.name !== "pos";
}
