// Where does it break? The accuracy of the nets by problem size, and a problem of any size to see.

import { byId, element, shape } from "./dom.js";

const CHART_HEIGHT = 190;
const CHART_LEFT = 46;
const CHART_BOTTOM = 24;
const SMALLEST_SIZE = 4;
const LARGEST_SIZE = 64;
const NET_COLOURS = ["blue", "green", "purple", "amber"];
const SIZE_TICKS = [4, 16, 32, 48, 64];

export class Breaks {
  constructor(problem) {
    this.problem = problem;
    this.chart = shape("svg", { class: "sizes", height: CHART_HEIGHT, role: "img" });
    addEventListener("resize", () => this.curves && this.draw());
    this.slider = element("input", {
      type: "range",
      id: "size",
      min: SMALLEST_SIZE,
      max: LARGEST_SIZE,
      value: 16,
      oninput: () => this.draw(),
    });
    this.said = element("p", { class: "sizes-said", "aria-live": "polite" });
    this.look = element("button", { type: "button", onclick: () => this.draws() });
    this.missing = element("p", { class: "limit" });
    byId("breaks").append(
      element("h2", {}, "Where does it break?"),
      element(
        "div",
        { class: "sizes-row" },
        element("figure", {}, this.chart, this.missing),
        element(
          "div",
          { class: "sizes-side" },
          element("label", { for: "size" }, "Nodes: ", (this.number = element("output", {}))),
          this.slider,
          this.said,
          this.look,
        ),
      ),
    );
  }

  show(algorithm) {
    this.algorithm = algorithm;
    const { nets } = this.problem.nets;
    this.curves = nets
      .filter((net) => net.algorithms.includes(algorithm))
      .map((net, turn) => ({
        name: net.name,
        colour: NET_COLOURS[turn % NET_COLOURS.length],
        points: net.curves[algorithm] ?? [],
      }));
    byId("breaks").hidden = false;
    this.missing.textContent = unmeasured(this.curves);
    this.draw();
  }

  draw() {
    const n = Number(this.slider.value);
    this.number.textContent = n;
    this.look.textContent = `Look at a problem with n = ${n}`;
    this.said.replaceChildren(
      ...this.curves.map(({ name, colour, points }) =>
        element("span", { class: colour }, element("b", {}, name), ` ${accuracy(points, n)}`),
      ),
    );
    const known = this.curves.filter(({ points }) => points.length);
    this.chart.setAttribute(
      "aria-label",
      `Score in ${this.algorithm} by number of nodes: ${known
        .map(({ name, points }) => `${name} ${points.map(pointText).join(", ")}`)
        .join("; ")}`,
    );
    const width = this.chart.getBoundingClientRect().width;
    if (width === 0) return; // it cannot be seen
    const across = (size) => sizeAt(size, width); // in pixels, so that text keeps its size
    this.chart.replaceChildren(
      ...sizeAxes(across, width),
      ...known.flatMap((curve) => sizeLine(curve, across)),
      sizeMarker(across(n)),
    );
  }

  draws() {
    const n = Number(this.slider.value);
    this.problem.draw(n, Number(this.problem.seed.value) || 0);
    byId("frame").scrollIntoView();
  }
}

function sizeAt(n, width) {
  return CHART_LEFT + ((n - SMALLEST_SIZE) / (LARGEST_SIZE - SMALLEST_SIZE)) * (width - CHART_LEFT - 10);
}

function scoreAt(score) {
  return CHART_HEIGHT - CHART_BOTTOM - (Math.max(0, score) / 100) * (CHART_HEIGHT - CHART_BOTTOM - 10);
}

function sizeAxes(across, width) {
  return [
    ...[0, 50, 100].flatMap((score) => [
      shape("line", { class: "grid", x1: CHART_LEFT, x2: width - 8, y1: scoreAt(score), y2: scoreAt(score) }),
      shape("text", { x: CHART_LEFT - 5, y: scoreAt(score) + 4, "text-anchor": "end" }, `${score} %`),
    ]),
    ...SIZE_TICKS.map((n) =>
      shape("text", { x: across(n), y: CHART_HEIGHT - 5, "text-anchor": "middle" }, `${n}`),
    ),
  ];
}

function sizeLine({ points, colour }, across) {
  const at = points.map(({ n, score }) => `${across(n).toFixed(1)},${scoreAt(score).toFixed(1)}`);
  return [
    shape("polyline", { class: `by-size ${colour}`, points: at.join(" ") }),
    ...points.map(({ n, score }) =>
      shape("circle", { class: colour, cx: across(n), cy: scoreAt(score), r: 3.2 }),
    ),
  ];
}

function sizeMarker(x) {
  return shape("line", { class: "now", x1: x, x2: x, y1: 6, y2: CHART_HEIGHT - CHART_BOTTOM });
}

// The score at the nearest size that was measured.
function accuracy(points, n) {
  if (!points.length) return "was not measured";
  const nearest = points.reduce((a, b) => (Math.abs(b.n - n) < Math.abs(a.n - n) ? b : a));
  const where = nearest.n === n ? "" : `, at n = ${nearest.n}`;
  return `${nearest.score.toFixed(1)} %${where} (${nearest.samples} problems)`;
}

function pointText({ n, score }) {
  return `${Math.round(score)} % at ${n}`;
}

const MEASURED_SIZES = [4, 8, 12, 16, 24, 32, 48, 64];

function unmeasured(curves) {
  const gaps = curves.map(({ name, points }) => ({
    name,
    sizes: MEASURED_SIZES.filter((size) => !points.some(({ n }) => n === size)),
  }));
  const texts = gaps
    .filter(({ sizes }) => sizes.length)
    .map(({ name, sizes }) =>
      sizes.length === MEASURED_SIZES.length ? `${name}: nothing` : `${name}: n = ${sizes.join(", ")}`,
    );
  return texts.length ? `Not measured: ${texts.join("; ")}.` : "";
}
