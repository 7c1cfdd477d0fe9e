// Small pictures of how features are drawn, and what each mark means here.

import { isSeries } from "./bars.js";
import { element, shape } from "./dom.js";
import { areIntervals } from "./intervals.js";
import { tagName } from "./scene.js";

const SWATCHES = {
  arrow: () => [
    shape("path", { d: "M2 8 Q9 1 15 6" }),
    shape("polygon", { points: "19,9 12,9 16,3" }),
  ],
  tree: () => [shape("path", { d: "M10 1 L4 11 M10 1 L16 11" })],
  edge: () => [shape("path", { d: "M2 10 L18 2", "stroke-width": 4 })],
  fill: () => [shape("circle", { cx: 10, cy: 6, r: 5.5 })],
  shade: () => [shape("text", { x: 10, y: 10 }, "12")],
  tag: () => [shape("rect", { x: 2, y: 1, width: 16, height: 10, rx: 5 })],
  badge: () => [shape("rect", { x: 2, y: 1.5, width: 16, height: 9, rx: 2 })],
  cell: () =>
    [0, 1, 2].map((turn) => shape("rect", { x: 2 + 6 * turn, y: 3, width: 5, height: 6 })),
  none: () => [],
};

export function swatch(role, colour) {
  const kind = `swatch ${role} ${colour ?? ""}`;
  return shape(
    "svg",
    { viewBox: "0 0 20 12", class: kind, "aria-hidden": "true" },
    SWATCHES[role](),
  );
}

// What is to be seen in the pictures of a moment, mark by mark.
export function legendOf(scene, moment) {
  const { trace, looks } = scene;
  const drawn = (role) => looks.drawn(moment, role);
  const roles = new Map(scene.shownRoles(moment).map(({ means, style }) => [means, style]));
  const meanings = (role) =>
    drawn(role).map((feature) => entry(swatch(role, looks.colour(feature)), drawnMeaning(feature)));
  return [
    ...[...roles].map(([means, style]) => entry(disk(style), means)),
    ...(drawn("cell").length ? tableEntries(trace, looks, moment) : []),
    ...["arrow", "edge"].flatMap(meanings),
    ...(moment < trace.steps && looks.tree ? [entry(swatch("tree"), "the heap as a tree")] : []),
    ...drawn("shade").slice(0, 1).map(({ meaning }) => entry(sign("number", "12"), meaning)),
    ...drawn("tag").map((feature) =>
      entry(element("b", { class: "pill" }, tagName(feature)), feature.meaning),
    ),
    ...drawn("badge").map((feature) =>
      entry(element("b", { class: "badge" }, tagName(feature)), feature.meaning),
    ),
    ...seriesEntries(trace),
    ...(trace.has("A") && trace.has("s") ? [entry(sign("start"), "where to start")] : []),
    ...(looks.order
      ? [
          entry(sign("number", "3"), "below a bar: where it stood at first"),
          entry(sign("loose"), "left out of the order"),
        ]
      : []),
  ];
}

// Of a pointer or a mask, what is not drawn need not be said: to which node itself it points, say.
function drawnMeaning({ meaning }) {
  return meaning.split(";")[0];
}

// Where each node has several bars, which is which.
function seriesEntries(trace) {
  const series = trace.has("A") || trace.has("x") || areIntervals(trace) ? [] : trace.inputs.filter(isSeries);
  if (series.length < 2) return [];
  return series.map(({ meaning }, turn) =>
    entry(sign(`series series${turn}`), `${turn ? "right" : "left"} bar: ${meaning.split(";")[0]}`),
  );
}

function tableEntries(trace, looks, moment) {
  const features = looks.drawn(moment, "cell");
  const number = features.find(({ kind }) => kind === "scalar");
  const other = features.find(({ kind }) => kind !== "scalar" && kind !== "mask");
  const written = other && (!number || looks.twoLines || trace.has("string"));
  return [
    entry(disk("known"), "known; cells without a value are empty"),
    ...(moment < trace.steps ? [entry(disk("busy"), "changed by this step")] : []),
    ...(moment === trace.answer && trace.has("string")
      ? [entry(disk("done"), "a letter of the answer, on the path of the signs")]
      : []),
    ...(number ? [entry(sign("number", "12"), number.meaning)] : []),
    ...(written ? [entry(sign("number", trace.has("string") ? "↖" : "A"), signMeaning(other))] : []),
  ];
}

// Without the numbers of the classes, where those have signs.
function signMeaning({ meaning }) {
  return meaning.replace(/\d (?=[↖↑←])/g, "");
}

// What holds for every algorithm: what is wrong, what is nearly right, how sure the net is.
export function generalMarks(trace, withTruth) {
  const scalars = [...trace.hints, ...trace.outputs].some(
    ({ kind, predicted }) => kind === "scalar" && predicted,
  );
  const percent = Math.round(100 * trace.data.tolerance);
  return [
    entry(sign("wrong", "×"), scalars ? `wrong: by more than ${percent} % of the largest number` : "or dashed: wrong"),
    ...(scalars ? [entry(sign("off", "≈"), "off by less")] : []),
    ...(withTruth ? [entry(sign("right", "✓"), "or pale green: right")] : []),
    entry(sign("sure"), "low confidence"),
  ];
}

// For the list of values.
export function legend() {
  return [
    key("wrong", "wrong; small below it, the right value", "×"),
    key("dotted", "dotted: the net is not sure", "12"),
    key("strip", "the redder, the more was wrong at that step"),
  ];
}

function entry(picture, text) {
  return element("li", {}, picture, element("span", {}, text));
}

function disk(style) {
  return element("i", { class: `disk ${style}` });
}

function sign(kind, text = "") {
  return element("i", { class: `sign ${kind}` }, text);
}

function key(kind, text, mark = "") {
  return element("span", { class: "entry" }, element("span", { class: `key ${kind}` }, mark), text);
}
