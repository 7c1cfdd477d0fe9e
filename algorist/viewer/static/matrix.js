// Tables over pairs of nodes: a cell for each, empty until it is known, other where it has changed.

import { shape, titled } from "./dom.js";
import { classes, confidenceBar, round, textWidth } from "./marks.js";
import { PixelGrid } from "./pixels.js";
import { Picture } from "./picture.js";
import { told, unsure } from "./scene.js";
import { isPointer, short } from "./trace.js";

const MOST_CELL_SIZE = 46;
const MOST_STRETCH = 1.5; // how much wider than high a cell may be
const ROOM_FOR_TEXT = 20;
const ROOM_FOR_TWO = 36; // lines of text
const SIGNS = ["↖", "↑", "←", "·"]; // of two strings: whence a length comes
const STEPS = [[1, 1], [1, 0], [0, 1]]; // how far up and left that is

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
    this.fine = this.size < 13;
    this.across = this.fine
      ? this.size
      : Math.min(this.width / (this.columns.length + 1), MOST_STRETCH * this.size, MOST_CELL_SIZE + 4);
    this.left = (this.width - this.across * (this.columns.length + 1)) / 2;
    this.svg.classList.toggle("fine", this.fine);
    this.scene.looks.twoLines = this.size >= ROOM_FOR_TWO; // which the legend mentions
    this.names = this.headings();
    this.frames = shape("g", {});
    const corner = { x: this.left + this.across, y: this.size };
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
    const longest = Math.max(1, Math.floor(this.across / 7));
    const name = (node, x, y) => ({
      node,
      text: shape("text", { x: round(x), y: round(y), dy: "0.35em" }, names[node].slice(0, longest)),
    });
    const { size, across, left } = this;
    return [
      ...this.rows.map((node, place) => name(node, left + across / 2, size * (place + 1.5))),
      ...this.columns.map((node, place) => name(node, left + across * (place + 1.5), size / 2)),
    ];
  }

  cell(row, column) {
    const place = row * this.trace.nodes + column;
    const { size, across } = this;
    const x = this.left + across * (this.columns.indexOf(column) + 1);
    const y = size * (this.rows.indexOf(row) + 1);
    const inside = { width: round(across - 2), height: round(size - 2) };
    const box = { x: round(x + 1), y: round(y + 1), ...inside, rx: 3 };
    const tip = titled("");
    const group = shape("g", {}, tip, shape("rect", { class: "back", ...box }));
    const name = `${this.trace.data.names[row]}, ${this.trace.data.names[column]}`;
    return { group, tip, place, name, row, column, middle: { x: x + across / 2, y: y + size / 2 } };
  }

  draw(moment) {
    const now = this.shown(moment);
    this.path = moment === this.trace.answer && now.sign ? this.pathOf(now.sign.values) : new Set();
    if (this.fine) this.pixels.draw((row, column) => this.colour(now, row, column), this.svg);
    const earlier = moment > 0 && moment < this.trace.steps ? this.shown(moment - 1) : null;
    for (const cell of this.cells) this.update(cell, now, earlier);
    const tagged = this.scene.tags(moment);
    for (const { node, text } of this.names)
      text.setAttribute("class", classes("name", { tagged: tagged.has(node) }));
    this.frames.replaceChildren(...[...tagged.keys()].flatMap((node) => this.frame(node)));
  }

  // Of two strings: the cells from the last to the first, as their signs lead; no others have a path.
  pathOf(signs) {
    const path = new Set();
    if (!this.trace.has("string")) return path;
    let [i, j] = [this.rows.length - 1, this.columns.length - 1];
    while (i >= 0 && j >= 0) {
      const place = this.rows[i] * this.trace.nodes + this.columns[j];
      path.add(place);
      const [up, left] = STEPS[signs[place]] ?? [1, 1];
      [i, j] = [i - up, j - left];
    }
    return path;
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
    const path = this.path.has(place);
    const done = path && now.sign.values[place] === 0;
    const kinds = { known: known && !hidden, busy, done, path, wrong, unused };
    group.setAttribute("class", classes("entry", kinds));
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
      ? confidenceBar(percent, middle.x - this.across / 2 + 4, middle.y - this.size / 2 + 3, this.across - 8)
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
  digits({ feature, values, truth, wrong }, place, inFront) {
    const value = values[place];
    const text = this.trace.number(feature, value);
    const off = !wrong.has(place) && text !== this.trace.number(feature, truth[place]);
    const rounded = (digits) => String(Number(value.toFixed(digits)) || 0);
    const shorter = [off ? `≈${text}` : text, text, rounded(1), rounded(0)];
    if (Math.abs(value) >= 1000) shorter.push(`${Math.round(value / 1000)}k`);
    const fits = (written) => textWidth(`${inFront}${written}`, this.fontSize) < this.across - 3;
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
    const { size, across, left, rows, columns } = this;
    const [row, column] = [rows.indexOf(node), columns.indexOf(node)];
    const lying = { x: left + across, y: size * (row + 1), width: across * columns.length, height: size };
    const standing = { x: left + across * (column + 1), y: size, width: across, height: size * rows.length };
    const boxes = [row >= 0 && lying, column >= 0 && standing].filter(Boolean);
    return boxes.map((box) => {
      const rounded = Object.entries(box).map(([name, length]) => [name, round(length)]);
      return shape("rect", { class: "crosshair", ...Object.fromEntries(rounded) });
    });
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
