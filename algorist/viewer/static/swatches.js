// Small pictures of how features are drawn, and what each mark means here.

import { element, shape } from "./dom.js";

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
    drawn(role).map((feature) => entry(swatch(role, looks.colour(feature)), feature.meaning));
  return [
    ...[...roles].map(([means, style]) => entry(disk(style), means)),
    ...(drawn("cell").length ? tableEntries(trace, looks, moment) : []),
    ...["arrow", "edge"].flatMap(meanings),
    ...(moment < trace.steps && looks.tree ? [entry(swatch("tree"), "the heap as a tree")] : []),
    ...drawn("shade").slice(0, 1).map(({ meaning }) => entry(sign("number", "12"), meaning)),
    ...drawn("tag").map(({ name, meaning }) => entry(element("b", { class: "pill" }, name), meaning)),
    ...(trace.has("A") && trace.has("s") ? [entry(sign("start"), "where to start")] : []),
    ...(looks.order ? [entry(sign("loose"), "left out of the order")] : []),
    ...general(trace),
  ];
}

function tableEntries(trace, looks, moment) {
  const features = looks.drawn(moment, "cell");
  const number = features.find(({ kind }) => kind === "scalar");
  const other = features.find(({ kind }) => kind !== "scalar" && kind !== "mask");
  const written = other && (!number || looks.twoLines || trace.has("string"));
  return [
    entry(disk("known"), "known; cells without a value are empty"),
    ...(moment < trace.steps ? [entry(disk("busy"), "changed by this step")] : []),
    ...(number ? [entry(sign("number", "12"), number.meaning)] : []),
    ...(written ? [entry(sign("number", trace.has("string") ? "↖" : "A"), other.meaning)] : []),
  ];
}

// What holds for every algorithm: what is wrong, what is nearly right, how sure the net is.
function general(trace) {
  const scalars = [...trace.hints, ...trace.outputs].some(
    ({ kind, predicted }) => kind === "scalar" && predicted,
  );
  const percent = Math.round(100 * trace.data.tolerance);
  return [
    entry(sign("wrong", "×"), scalars ? `wrong; a number, if off by more than ${percent} % of the largest` : "or dashed: wrong"),
    ...(scalars ? [entry(sign("off", "≈"), `slightly off: within those ${percent} %`)] : []),
    entry(sign("sure"), "how sure the net is, if it is not"),
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
