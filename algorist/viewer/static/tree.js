// A heap as a tree: the order of the nodes fills it level by level.

import { shape, titled } from "./dom.js";
import { chainOrder } from "./looks.js";
import { arrow, at, classes, cross } from "./marks.js";
import { Picture } from "./picture.js";
import { short } from "./trace.js";

const MOST_NODES = 31;

export class TreePicture extends Picture {
  constructor(scene) {
    super(scene, "plane tree");
    this.feature = treeOf(scene);
    this.over = shape("g", {});
    this.svg.append(this.over);
  }

  get levels() {
    return Math.floor(Math.log2(this.trace.nodes)) + 1;
  }

  wanted() {
    return 26 + this.levels * 48;
  }

  lay() {
    const widest = 2 ** (this.levels - 1);
    this.radius = Math.min(15, this.width / widest / 2 - 1, this.height / this.levels / 2 - 4);
    const down = (this.height - 2 * this.radius - 12) / Math.max(this.levels - 1, 1);
    this.spots = Array.from({ length: this.trace.nodes }, (_, place) => {
      const level = Math.floor(Math.log2(place + 1));
      const turn = place + 1 - 2 ** level;
      return {
        x: (this.width * (turn + 0.5)) / 2 ** level,
        y: 9 + this.radius + level * down,
      };
    });
  }

  draw(moment) {
    const { scene, trace } = this;
    if (moment === trace.answer) return this.over.replaceChildren();
    const { order } = chainOrder(trace.values(scene.side, scene.looks.order, moment));
    const spots = [];
    order.forEach((node, place) => (spots[node] = this.spots[place]));
    const links = scene.pointersOf(this.feature, moment).map(({ from, to, look }) =>
      arrow(spots[from], spots[to], {
        ...look,
        bend: 0,
        gaps: [this.radius, this.radius + 1],
        width: look.truth ? 4 : 1.7,
      }),
    );
    this.over.replaceChildren(...links, ...order.map((node) => this.node(moment, node, spots[node])));
  }

  node(moment, node, spot) {
    const { scene, radius } = this;
    const role = scene.role(moment, node);
    return shape(
      "g",
      { class: classes(`node ${role.style}`, { wrong: role.wrong }), transform: `translate(${at(spot)})` },
      titled(scene.about(moment, node)),
      shape("circle", { r: radius, class: "back" }),
      radius >= 10 ? shape("text", { class: "name", dy: "0.35em", "font-size": 11 }, short(this.trace.input("key")[node])) : null,
      role.wrong ? cross(radius * 0.8, -radius * 0.8, 5) : null,
    );
  }
}

// The pointer to each node's parent in a heap, if a sort has one and it is not too large.
export function treeOf({ trace, looks }) {
  const found = trace.hints.find(({ name, kind }) => name === "parent" && kind === "pointer");
  return looks.order && trace.nodes <= MOST_NODES ? found : undefined;
}
