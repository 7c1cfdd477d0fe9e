// Nodes in a row, as arrays and strings have them: arrows over them, tags below.

import { shape } from "./dom.js";
import { arrow, at, round, TAG_LINE, tagLines } from "./marks.js";
import { Picture } from "./picture.js";

const MOST_TAG_LINES = 4;

// A picture whose nodes have a `corner(node)`, which `place(moment)` may change, and a `centre(node)`
// for arrows and tags. `node(moment, node)` says of which kind a node is, and what it is made of.
export class Row extends Picture {
  constructor(scene, kind) {
    super(scene, `row ${kind}`);
    this.nodes = this.trace.data.names.map(() => shape("g", {})); // they stay, and move
    this.back = shape("g", {});
    this.over = shape("g", {});
    this.svg.append(this.back, ...this.nodes, this.over);
  }

  // Room for arrows above, and for tags below.
  get arrowRoom() {
    return this.scene.looks.count("arrow") ? 46 : 0;
  }

  get tagRoom() {
    return Math.min(MOST_TAG_LINES, this.scene.looks.count("tag")) * TAG_LINE + 8;
  }

  draw(moment) {
    this.place(moment);
    this.back.replaceChildren(...this.behind(moment));
    this.nodes.forEach((group, node) => {
      const { kind, parts } = this.node(moment, node);
      const { x, y } = this.corner(node);
      group.setAttribute("class", kind);
      group.style.transform = `translate(${round(x)}px, ${round(y)}px)`;
      group.replaceChildren(...parts.flat().filter(Boolean));
    });
    this.over.replaceChildren(...this.arrows(moment), ...this.tags(moment));
  }

  behind() {
    return [];
  }

  arrows(moment) {
    return this.scene.pointers(moment).map(({ from, to, look }) => this.arc(from, to, look));
  }

  // Over the nodes; an arrow back runs below the arrow that it answers.
  arc(from, to, look) {
    const [a, b] = [from, to].map((node) => this.top(node));
    const distance = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const rise = Math.min(2 * (this.arrowRoom - 8), 16 + 0.4 * distance);
    const back = to < from ? 0.8 : 1;
    const bend = (rise / distance) * (b.x > a.x ? -1 : 1) * back; // upwards
    return arrow(a, b, { ...look, bend, width: look.truth ? 4 : 1.9 });
  }

  tags(moment) {
    const found = [...this.scene.tags(moment)].map(([node, tags]) => {
      const { x, y } = this.centre(node);
      return { x, y: y + 5, tags };
    });
    const pins = found.map(({ x, y }) =>
      shape("path", { class: "pin", d: `M${at({ x, y: y - 5 })} l-4,5 h8 z` }),
    );
    const heights = [...new Set(found.map(({ y }) => y))]; // lines of text have tags of their own
    const lines = heights.map((height) => found.filter(({ y }) => y === height));
    return [...pins, ...lines.flatMap((line) => tagLines(line, [0, this.width]))];
  }
}
