// Matrices as cells: numbers as shades, pointers and classes as signs, masks as what is filled.

import { shape, titled } from "./dom.js";
import { WIDTH } from "./layout.js";
import { round, solidity, tagsByNode, told } from "./marks.js";
import { isPointer, short } from "./trace.js";

const MOST_HEIGHT = 400;
const ROOM_FOR_TEXT = 17;
const SIGNS = ["↖", "↑", "←", "·"]; // of two strings: whence a length comes

export class MatrixPicture {
  constructor(trace, looks, side) {
    Object.assign(this, { trace, looks, side });
    const nodes = trace.data.names.map((_, node) => node);
    // Two strings: the letters of the one are the rows, of the other the columns.
    const second = trace.has("string") ? trace.input("string").indexOf(1) : 0;
    this.rows = second ? nodes.slice(0, second) : nodes;
    this.columns = second ? nodes.slice(second) : nodes;
    this.size = Math.min(
      WIDTH / (this.columns.length + 1),
      MOST_HEIGHT / (this.rows.length + 1),
      44,
    );
    const height = this.size * (this.rows.length + 1);
    this.left = (WIDTH - this.size * (this.columns.length + 1)) / 2;
    this.names = this.headings();
    this.cells = this.rows.map((row) => this.columns.map((column) => this.cell(row, column)));
    this.svg = shape(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${round(height)}`,
        class: `picture matrix ${this.size < 12 ? "fine" : ""}`,
        role: "img",
      },
      this.names.map(({ text }) => text),
      this.cells.flat().map((cell) => cell.group),
    );
  }

  headings() {
    if (this.size < 10) return [];
    const names = this.trace.has("string") ? this.trace.letters : this.trace.data.names;
    const name = (node, x, y) => ({
      node,
      text: shape("text", { x: round(x), y: round(y), dy: "0.35em" }, names[node].slice(0, 4)),
    });
    const half = this.size / 2;
    return [
      ...this.rows.map((node, place) =>
        name(node, this.left + half, this.size * (place + 1) + half),
      ),
      ...this.columns.map((node, place) =>
        name(node, this.left + this.size * (place + 1) + half, half),
      ),
    ];
  }

  cell(row, column) {
    const place = row * this.trace.nodes + column;
    const { size } = this;
    const x = this.left + size * (this.columns.indexOf(column) + 1);
    const y = size * (this.rows.indexOf(row) + 1);
    const [gap, rx] = size > 12 ? [1, 3] : [0.4, 1];
    const inside = round(size - 2 * gap);
    const box = { x: round(x + gap), y: round(y + gap), width: inside, height: inside, rx };
    const middle = { x: round(x + size / 2), y: round(y + size / 2), dy: "0.35em" };
    const tip = titled("");
    const shade = shape("rect", { class: "shade", ...box });
    const sign = shape("text", { ...middle, "font-size": round(Math.min(13, size * 0.42)) });
    const group = shape("g", {}, tip, shape("rect", { class: "back", ...box }), shade, sign);
    const name = `${this.trace.data.names[row]}, ${this.trace.data.names[column]}`;
    return { group, shade, sign, tip, place, name };
  }

  draw(moment) {
    const features = this.looks.drawn(moment, "cell", this.side).map((feature) => ({
      feature,
      values: this.trace.values(this.side, feature, moment),
      wrong: this.trace.wrong(this.side, feature, moment),
      confidence: this.trace.confidence(this.side, feature, moment),
    }));
    const shown = {
      features,
      moment,
      number: features.find(({ feature }) => feature.kind === "scalar"),
      sign: features.find(({ feature }) => feature.kind === "categorical" || isPointer(feature)),
      mask: features.find(({ feature }) => feature.kind === "mask"),
    };
    for (const row of this.cells) for (const cell of row) this.update(cell, shown);
    const tagged = tagsByNode(this.trace, this.looks, this.side, moment);
    for (const { node, text } of this.names)
      text.setAttribute("class", tagged.has(node) ? "name tagged" : "name");
  }

  update(cell, { features, moment, number, sign, mask }) {
    const { place } = cell;
    const known =
      features.length > 0 &&
      (!mask || mask.values[place] === 1) &&
      (!sign || sign.values[place] >= 0);
    const mistaken = (drawn) => drawn?.wrong.has(place) ?? false;
    const marks = {
      known,
      "wrong-mask": mistaken(mask),
      "wrong-sign": known && mistaken(sign),
      "wrong-number": known && mistaken(number),
    };
    const shade = known ? this.shade(number, sign ?? mask, place) : 0;
    const kinds = Object.keys(marks).filter((kind) => marks[kind]);
    cell.group.setAttribute(
      "class",
      ["entry", ...kinds, ...(shade > 0.55 ? ["strong"] : [])].join(" "),
    );
    cell.shade.setAttribute("fill-opacity", round(shade));
    const mark = mistaken(mask) ? "×" : "";
    cell.sign.textContent = known ? this.text(sign, number, place) : mark;
    cell.sign.setAttribute("fill-opacity", round(solidity(sign?.confidence?.[place])));
    cell.tip.textContent = [
      cell.name,
      ...features.map(({ feature }) => told(this.trace, this.side, feature, moment, place)),
    ].join("\n");
  }

  // The larger its number, the darker a cell is; without one, the surer the net is.
  shade(number, other, place) {
    if (!number) return 0.25 * solidity(other?.confidence?.[place]);
    return 0.06 + 0.8 * this.trace.share(number.feature, number.values[place]);
  }

  text(sign, number, place) {
    if (this.size < ROOM_FOR_TEXT) return "";
    if (!sign) return number ? short(number.values[place]) : "";
    const value = sign.values[place];
    if (isPointer(sign.feature)) return this.trace.data.names[value].slice(0, 3);
    return this.trace.has("string") ? SIGNS[value] : String(value);
  }
}
