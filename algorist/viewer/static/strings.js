// Two strings as cells, one below the other.

import { shape, titled } from "./dom.js";
import { WIDTH } from "./layout.js";
import { about, arrow, nodeIsWrong, partLook, partsOf, round } from "./marks.js";
import { ARROWS, Row } from "./row.js";

const MOST_SIZE = 36;
const BETWEEN = 86; // the rows: room for tags and arrows
const ROOM_FOR_PLACE = 20;

export class StringsPicture extends Row {
  constructor(trace, looks, side) {
    super(trace, looks, side, BETWEEN + MOST_SIZE);
    this.top = ARROWS - 34;
    this.start = trace.input("string").indexOf(1);
    this.longest = Math.max(this.start, trace.nodes - this.start);
    this.size = Math.min(MOST_SIZE, WIDTH / this.longest);
    this.shift = 0;
  }

  // Below the text, a pattern stands where it is tried.
  place(moment) {
    const isTried = ({ kind, name }) => kind === "mask_one" && (name === "s" || name === "match");
    const tried = this.trace.at(moment).find(isTried);
    const [place] = tried ? this.trace.values(this.side, tried, moment) : [0];
    const most = Math.max(0, 2 * this.start - this.trace.nodes);
    this.shift = place < this.start ? Math.min(place, most) : 0;
  }

  corner(node) {
    const second = node >= this.start;
    const column = second ? node - this.start + this.shift : node;
    const left = (WIDTH - this.longest * this.size) / 2;
    return { x: left + column * this.size, y: ARROWS + (second ? BETWEEN : 0) };
  }

  centre(node) {
    const { x, y } = this.corner(node);
    return { x: x + this.size / 2, y: y + this.size + 2 };
  }

  arc(from, to, look) {
    const [a, b] = [from, to].map((node) => ({
      x: this.centre(node).x,
      y: this.corner(node).y - 1,
    }));
    const distance = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const bend = Math.min(0.9, 36 / distance) * (b.x >= a.x ? -1 : 1);
    return arrow(a, b, { ...look, bend, width: 1.6 });
  }

  node(moment, node) {
    const { trace, looks, side, size } = this;
    const wrong = nodeIsWrong(trace, looks, side, moment, node);
    const box = { width: round(size - 2), height: round(size - 2), rx: 4 };
    const middle = { x: round(size / 2 - 1), y: round(size / 2 - 1), dy: "0.35em" };
    const filled = partsOf(trace, looks, side, moment, node);
    const parts = [
      titled(about(trace, side, moment, node)),
      shape("rect", { class: "back", ...box }),
      filled.map((part) => shape("rect", { ...box, ...partLook(part) })),
      size >= ROOM_FOR_PLACE && shape("text", { class: "place", x: 6, y: 8 }, String(node)),
      shape(
        "text",
        { ...middle, "font-size": round(Math.min(16, size * 0.6)) },
        trace.letters[node],
      ),
    ];
    return { kind: wrong ? "cell wrong" : "cell", parts };
  }
}
