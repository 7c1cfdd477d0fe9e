// Nodes in a row, as arrays and strings have them: arrows over them, tags below.

import { shape } from "./dom.js";
import { WIDTH } from "./layout.js";
import { arrow, at, pointersOf, round, TAG_LINE, tagLines, tagsByNode } from "./marks.js";

export const ARROWS = 64; // the height of the room for arrows

// A picture whose nodes have a `corner(node)`, which `place(moment)` may change, and a `centre(node)`
// for arrows and tags. `node(moment, node)` says of which kind a node is, and what it is made of.
export class Row {
  constructor(trace, looks, side, height) {
    Object.assign(this, { trace, looks, side });
    this.top = 0;
    this.base = ARROWS + height;
    this.bottom = this.base + 20;
    this.nodes = trace.data.names.map(() => shape("g", {})); // they stay, and move
    this.over = shape("g", {});
    this.svg = shape("svg", { class: "picture row", role: "img" }, this.nodes, this.over);
  }

  draw(moment) {
    const top = this.looks.count("arrow") ? this.top : ARROWS - 6;
    const tags = Math.min(4, this.looks.count("tag")) * TAG_LINE + 6;
    this.svg.setAttribute("viewBox", `0 ${top} ${WIDTH} ${this.bottom + tags - top}`);
    this.place(moment);
    this.nodes.forEach((group, node) => {
      const { kind, parts } = this.node(moment, node);
      const { x, y } = this.corner(node);
      group.setAttribute("class", kind);
      group.style.transform = `translate(${round(x)}px, ${round(y)}px)`;
      group.replaceChildren(...parts.flat().filter(Boolean));
    });
    this.over.replaceChildren(...this.arrows(moment), ...this.tags(moment));
  }

  arrows(moment) {
    return pointersOf(this.trace, this.looks, this.side, moment).map(({ from, to, look }) =>
      this.arc(from, to, look),
    );
  }

  arc(from, to, look) {
    const [a, b] = [from, to].map((node) => ({ x: this.centre(node).x, y: ARROWS - 8 }));
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
    const pins = found.map(({ x, y }) =>
      shape("path", { class: "pin", d: `M${at({ x, y: y - 5 })} l-4,5 h8 z` }),
    );
    const heights = [...new Set(found.map(({ y }) => y))]; // lines of text have tags of their own
    const lines = heights.map((height) => found.filter(({ y }) => y === height));
    return [...pins, ...lines.flatMap((line) => tagLines(line, [0, WIDTH]))];
  }
}
