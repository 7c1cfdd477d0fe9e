// Tables over pairs of nodes: a cell for each, empty until it is known, other where it has changed.

import { shape, titled } from "./dom.js";
import { classes, confidenceBar, round, textWidth } from "./marks.js";
import { PixelGrid } from "./pixels.js";
import { Picture } from "./picture.js";
import { told, unsure } from "./scene.js";
import { isPointer, short } from "./trace.js";

const MOST_CELL_SIZE = 46;
const ROOM_FOR_TEXT = 20;
const ROOM_FOR_TWO = 36; // lines of text
const SIGNS = ["↖", "↑", "←", "·"]; // of two strings: whence a length comes

export class MatrixPicture extends Picture {
  constructor(scene) {
    super(scene, "matrix");
    const nodes = this.trace.data.names.map((_, node) => node);
    // Two strings: the letters of the one are the rows, of the other the columns.
    const second = this.trace.has("string") ? this.trace.input("string").indexOf(1) : 0;
    this.used = usedCells(scene);
    const isUsed = (place) => this.used?.has(place) ?? true;
    const at = (i, j) => i * nodes.length + j;
    const rows = nodes.filter((i) => nodes.some((j) => isUsed(at(i, j))));
    const columns = nodes.filter((j) => nodes.some((i) => isUsed(at(i, j))));
    this.rows = second ? nodes.slice(0, second) : rows;
    this.columns = second ? nodes.slice(second) : columns;
  }

  wanted(width) {
    const size = Math.min(MOST_CELL_SIZE, width / (this.columns.length + 1));
    return Math.max(size, 9) * (this.rows.length + 1) + 2;
  }

  lay() {
    this.size = Math.min(
      this.width / (this.columns.length + 1),
      (this.height - 2) / (this.rows.length + 1),
      MOST_CELL_SIZE,
    );
    this.left = (this.width - this.size * (this.columns.length + 1)) / 2;
    this.fine = this.size < 13;
    this.svg.classList.toggle("fine", this.fine);
    this.scene.looks.twoLines = this.size >= ROOM_FOR_TWO; // which the legend mentions
    this.names = this.headings();
    this.frames = shape("g", {});
    const corner = { x: this.left + this.size, y: this.size };
    this.pixels = this.fine ? new PixelGrid(corner, this.size, this.rows, this.columns) : null;
    this.cells = this.fine ? [] : this.rows.flatMap((i) => this.columns.map((j) => this.cell(i, j)));
    this.svg.replaceChildren(
      ...(this.pixels ? [this.pixels.image] : []),
      ...this.names.map(({ text }) => text),
      ...this.cells.map(({ group }) => group),
      this.frames,
    );
  }

  headings() {
    if (this.size < 13) return [];
    const names = this.trace.has("string") ? this.trace.letters : this.trace.data.names;
    const longest = Math.max(1, Math.floor(this.size / 7));
    const name = (node, x, y) => ({
      node,
      text: shape("text", { x: round(x), y: round(y), dy: "0.35em" }, names[node].slice(0, longest)),
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
    const inside = round(size - 2);
    const box = { x: round(x + 1), y: round(y + 1), width: inside, height: inside, rx: 3 };
    const tip = titled("");
    const group = shape("g", {}, tip, shape("rect", { class: "back", ...box }));
    const name = `${this.trace.data.names[row]}, ${this.trace.data.names[column]}`;
    return { group, tip, place, name, row, column, middle: { x: x + size / 2, y: y + size / 2 } };
  }

  draw(moment) {
    const now = this.shown(moment);
    if (this.fine) this.pixels.draw((row, column) => this.colour(now, row, column), this.svg);
    const earlier = moment > 0 && moment < this.trace.steps ? this.shown(moment - 1) : null;
    for (const cell of this.cells) this.update(cell, now, earlier);
    const tagged = this.scene.tags(moment);
    for (const { node, text } of this.names)
      text.setAttribute("class", classes("name", { tagged: tagged.has(node) }));
    this.frames.replaceChildren(...[...tagged.keys()].flatMap((node) => this.frame(node)));
  }

  // What there is at a moment: numbers, signs and the mask of what is known.
  shown(moment) {
    const { scene, trace } = this;
    const features = scene.features(moment, "cell").map((feature) => ({
      feature,
      values: trace.values(scene.side, feature, moment),
      truth: trace.values("algorithm", feature, moment),
      wrong: trace.wrong(scene.side, feature, moment),
      confidence: trace.confidence(scene.side, feature, moment),
    }));
    return {
      moment,
      features,
      number: features.find(({ feature }) => feature.kind === "scalar"),
      sign: features.find(({ feature }) => feature.kind === "categorical" || isPointer(feature)),
      mask: features.find(({ feature }) => feature.kind === "mask"),
    };
  }

  // Whether a cell has a value; those that no run ever fills have none in the answer either.
  isKnown({ moment, features, sign, mask }, place) {
    if (!features.length || (sign && sign.values[place] < 0)) return false;
    if (mask) return mask.values[place] === 1;
    if (moment < this.trace.steps || !this.used) return true;
    const [row, column] = [Math.floor(place / this.trace.nodes), place % this.trace.nodes];
    return this.used.has(place) && (!sign || this.hasSign(sign, row, column));
  }

  // In a table over an array a node alone has nothing to point to.
  hasSign({ feature }, row, column) {
    return row !== column || this.trace.has("A") || !isPointer(feature);
  }

  update(cell, now, earlier) {
    const { place, group, tip } = cell;
    const known = this.isKnown(now, place);
    const mistaken = (drawn) => drawn?.wrong.has(place) ?? false;
    const wrong = mistaken(now.mask) || (known && (mistaken(now.sign) || mistaken(now.number)));
    const hidden = this.scene.onlyDifferences && !wrong;
    const texts = known && !hidden ? this.texts(now, place) : [];
    const busy = known && !hidden && earlier !== null && this.changed(now, earlier, place);
    const unused = this.used !== null && !this.used.has(place) && !wrong;
    group.setAttribute("class", classes("entry", { known: known && !hidden, busy, wrong, unused }));
    while (group.childNodes.length > 2) group.lastChild.remove();
    group.append(...this.contents(cell, now, texts, wrong));
    tip.textContent = [
      cell.name,
      ...now.features.map(({ feature }) =>
        told(this.trace, this.scene.side, feature, now.moment, place),
      ),
    ].join("\n");
  }

  contents({ place, middle }, now, texts, wrong) {
    if (this.size < ROOM_FOR_TEXT) return [];
    const lines = wrong && !texts.length ? ["×"] : texts;
    const two = lines.length > 1 && this.size >= ROOM_FOR_TWO;
    const shown = (two ? lines : lines.slice(0, 1)).map((text, turn) =>
      shape(
        "text",
        {
          class: turn ? "second" : "",
          x: round(middle.x),
          y: round(middle.y + (two ? (turn ? 13 : -1) : 4)),
          "font-size": turn ? 11 : this.fontSize,
        },
        text,
      ),
    );
    const percent = unsure((now.sign ?? now.mask)?.confidence?.[place]);
    const bar = texts.length
      ? confidenceBar(percent, middle.x - this.size / 2 + 4, middle.y - this.size / 2 + 3, this.size - 8)
      : null;
    return [...shown, bar].filter(Boolean);
  }

  // What is written into a cell: its number, its sign, and what would be right if that is wanted.
  texts({ number, sign }, place) {
    const [row, column] = [Math.floor(place / this.trace.nodes), place % this.trace.nodes];
    const signs = sign && this.hasSign(sign, row, column) ? this.signText(sign, sign.values[place]) : "";
    const inFront = this.trace.has("string") ? signs : ""; // arrows stand before their lengths
    const digits = number ? this.digits(number, place, inFront) : "";
    const joined = inFront ? [`${signs}${digits}`] : number && !digits ? [] : [digits, signs];
    const truths = [number, sign]
      .filter((drawn) => this.scene.withTruth && drawn?.wrong.has(place))
      .map((drawn) => `✓${drawn === sign ? this.signText(sign, sign.truth[place]) : short(number.truth[place])}`);
    return [...joined.filter(Boolean).slice(0, truths.length ? 1 : 2), ...truths];
  }

  // A number with as many digits as there is room for.
  digits({ values, truth, wrong }, place, inFront) {
    const value = values[place];
    const text = short(value);
    const off = !wrong.has(place) && text !== short(truth[place]);
    const rounded = (digits) => String(Number(value.toFixed(digits)) || 0);
    const shorter = [off ? `≈${text}` : text, text, rounded(1), rounded(0)];
    if (Math.abs(value) >= 1000) shorter.push(`${Math.round(value / 1000)}k`);
    const fits = (written) => textWidth(`${inFront}${written}`, this.fontSize) < this.size - 3;
    return shorter.find(fits) ?? "";
  }

  get fontSize() {
    return this.size < 38 ? 11 : 12;
  }

  signText({ feature }, value) {
    if (isPointer(feature)) return this.trace.data.names[value]?.slice(0, 3) ?? "";
    return this.trace.has("string") ? SIGNS[value] : String(value);
  }

  changed(now, earlier, place) {
    if (!this.isKnown(earlier, place)) return true;
    const { number, sign } = now;
    if (sign && sign.values[place] !== earlier.sign.values[place]) return true;
    if (!number) return false;
    const change = number.values[place] - earlier.number.values[place];
    return this.trace.share(number.feature, change) > this.trace.data.tolerance;
  }

  // The row and the column of a node.
  frame(node) {
    const { size, left } = this;
    const [row, column] = [this.rows.indexOf(node), this.columns.indexOf(node)];
    const across = { x: round(left + size), y: round(size * (row + 1)) };
    const down = { x: round(left + size * (column + 1)), y: round(size) };
    return [
      row >= 0 && shape("rect", { class: "crosshair", ...across, width: round(size * this.columns.length), height: round(size) }),
      column >= 0 && shape("rect", { class: "crosshair", ...down, width: round(size), height: round(size * this.rows.length) }),
    ].filter(Boolean);
  }

  // Of a cell that has no room for text: which colour, and how much of it.
  colour(now, row, column) {
    const place = row * this.trace.nodes + column;
    const mistaken = [now.mask, now.number, now.sign].some((drawn) => drawn?.wrong.has(place));
    if (mistaken) return ["wrong", 1];
    if (!this.isKnown(now, place) || this.scene.onlyDifferences) return ["faint", 1];
    const share = now.number ? this.trace.share(now.number.feature, now.number.values[place]) : 0.5;
    return ["blue", 0.15 + 0.8 * share];
  }
}

// The cells that the algorithm ever fills; null if they are all.
function usedCells({ trace, looks }) {
  const hints = trace.hints.filter((hint) => looks.role(hint) === "cell");
  const mask = hints.find(({ kind }) => kind === "mask");
  const sign = hints.find(({ kind }) => kind === "categorical");
  if (hints.length < 2 || !(mask ?? sign)) return null;
  const used = new Set();
  for (let moment = 0; moment < trace.steps; moment++) {
    trace.values("algorithm", mask ?? sign, moment).forEach((value, place) => {
      if (mask ? value === 1 : value >= 0) used.add(place);
    });
  }
  if (trace.has("A")) addLastWays(trace, used);
  return used;
}

// Pairs of nodes that only the last step of all has joined.
function addLastWays(trace, used) {
  for (const output of trace.outputs.filter(isPointer)) {
    trace.values("algorithm", output, trace.answer).forEach((value, place) => {
      if (value !== Math.floor(place / trace.nodes)) used.add(place);
    });
  }
}
