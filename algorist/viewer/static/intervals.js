// Activities as boxes from their start to their finish, a row each: time goes to the right.

import { shape, titled } from "./dom.js";
import { classes, confidenceBar, cross, round, tagRow, tagsSize } from "./marks.js";
import { Picture } from "./picture.js";
import { short } from "./trace.js";

const AXIS = 18;

export class IntervalsPicture extends Picture {
  constructor(scene) {
    super(scene, "intervals");
    [this.starts, this.ends] = ["s", "f"].map((name) => this.trace.input(name));
    // The one that finishes first stands on top.
    this.order = this.ends.map((_, node) => node).sort((a, b) => this.ends[a] - this.ends[b]);
    this.below = shape("g", {});
    this.over = shape("g", {});
    this.svg.append(this.below, this.over);
  }

  wanted() {
    return Math.min(34, 560 / this.trace.nodes) * this.trace.nodes + AXIS + 6;
  }

  lay() {
    this.row = (this.height - AXIS - 4) / this.trace.nodes;
    const [low, high] = [Math.min(...this.starts), Math.max(...this.ends)];
    const room = this.width - 90; // tags stand behind the boxes
    this.level = (time) => 6 + ((time - low) / (high - low || 1)) * room;
    const times = [low, (low + high) / 2, high];
    this.below.replaceChildren(
      ...times.map((time) => {
        const x = round(this.level(time));
        return shape("path", { class: "tick", d: `M${x},0 V${this.height - AXIS}` });
      }),
      ...times.map((time) => {
        const look = { class: "name", x: round(this.level(time) + 2), y: this.height - 5 };
        return shape("text", look, short(time));
      }),
    );
  }

  draw(moment) {
    this.tagsNow = this.scene.tags(moment);
    this.over.replaceChildren(...this.order.map((node, row) => this.activity(moment, node, row)));
  }

  activity(moment, node, row) {
    const { scene } = this;
    const role = scene.role(moment, node);
    const [left, right] = [this.level(this.starts[node]), this.level(this.ends[node])];
    const y = row * this.row + 1;
    const height = Math.max(this.row - 3, 2);
    const box = { x: round(left), y: round(y), width: round(Math.max(right - left, 3)), height };
    const middle = y + height / 2;
    const tags = this.tagsNow.get(node) ?? [];
    const shift = role.wrong ? 18 : 5;
    const tagsLeft = Math.min(right + shift, this.width - tagsSize(tags).width);
    return shape(
      "g",
      { class: classes(`bar ${role.style}`, { wrong: role.wrong }) },
      titled(scene.about(moment, node)),
      shape("rect", { class: "back", ...box, rx: 3 }),
      role.truth ? shape("rect", { class: `should ${role.truth}`, ...box, width: 7 }) : null,
      this.row >= 14
        ? shape("text", { class: "inside", x: round((left + right) / 2), y: round(middle + 4) }, this.trace.data.names[node].slice(0, 4))
        : null,
      confidenceBar(role.confidence, left + 2, y + height - 4, Math.max(right - left - 4, 6)),
      role.wrong ? cross(right + 9, middle, 6) : null,
      this.row >= 14 ? tagRow(tags, tagsLeft, middle - 8.5) : null,
    );
  }
}

export function areIntervals(trace) {
  const names = ["s", "f"];
  return names.every((name) =>
    trace.inputs.some((input) => input.name === name && input.location === "node" && input.kind === "scalar"),
  );
}
