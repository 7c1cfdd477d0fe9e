// Two strings as cells, one below the other.

import { shape, titled } from "./dom.js";
import { arrow, classes, confidenceBar, cross, round } from "./marks.js";
import { Row } from "./row.js";

const MOST_SIZE = 36;
const ROOM_FOR_PLACE = 18;
const PLACES = 15; // the height of the line of places over a string

export class StringsPicture extends Row {
  constructor(scene) {
    super(scene, "strings");
    this.start = this.trace.input("string").indexOf(1);
    this.longest = Math.max(this.start, this.trace.nodes - this.start);
    this.shift = 0;
  }

  get lineHeight() {
    return MOST_SIZE + PLACES + this.tagRoom;
  }

  wanted() {
    return 2 * this.lineHeight + this.arrowRoom;
  }

  lay() {
    this.size = Math.min(MOST_SIZE, this.width / this.longest);
    this.left = (this.width - this.longest * this.size) / 2;
    this.between = Math.min(this.lineHeight + this.arrowRoom, this.height - PLACES - this.size - this.tagRoom);
  }

  // Below the text, a pattern stands where it is tried.
  place(moment) {
    const most = Math.max(0, 2 * this.start - this.trace.nodes);
    const place = this.trace.shift(this.scene.side, moment);
    this.shift = place >= 0 && place < this.start ? Math.min(place, most) : 0;
  }

  corner(node) {
    const second = node >= this.start;
    const column = second ? node - this.start + this.shift : node;
    return { x: this.left + column * this.size, y: PLACES + (second ? this.between : 0) };
  }

  centre(node) {
    const { x, y } = this.corner(node);
    return { x: x + this.size / 2, y: y + this.size };
  }

  arc(from, to, look) {
    const [a, b] = [from, to].map((node) => {
      const { x } = this.centre(node);
      return { x, y: this.corner(node).y - PLACES };
    });
    const distance = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const bend = Math.min(0.9, 30 / distance) * (b.x >= a.x ? -1 : 1);
    return arrow(a, b, { ...look, bend, width: look.truth ? 4 : 1.7 });
  }

  node(moment, node) {
    const { scene, size, trace } = this;
    const role = scene.role(moment, node);
    const box = { width: round(size - 2), height: round(size - 2), rx: 4 };
    const middle = { x: round(size / 2 - 1), y: round(size / 2 - 1), dy: "0.35em" };
    const place = node < this.start ? node : node - this.start;
    const parts = [
      titled(scene.about(moment, node)),
      shape("rect", { class: "back", ...box }),
      role.truth && shape("rect", { class: `should ${role.truth}`, ...box, height: 6 }),
      size >= ROOM_FOR_PLACE &&
        shape("text", { class: "place", x: round(size / 2 - 1), y: -4 }, String(place)),
      size >= 11 && shape("text", { ...middle, "font-size": size >= 20 ? 15 : 11 }, trace.letters[node]),
      confidenceBar(size >= 14 ? role.confidence : undefined, 2, size - 6, size - 6),
      role.wrong && size >= 14 && cross(size - 5, 3, 5),
    ];
    return { kind: classes(`cell ${role.style}`, { wrong: role.wrong }), parts };
  }
}
