// Small pictures of how features are drawn, and what else there is to see.

import { element, shape } from "./dom.js";

const SWATCHES = {
  arrow: () => [
    shape("path", { d: "M2 8 Q9 1 15 6" }),
    shape("polygon", { points: "19,9 12,9 16,3" }),
  ],
  edge: () => [shape("path", { d: "M2 10 L18 2", "stroke-width": 4 })],
  fill: () => [shape("circle", { cx: 10, cy: 6, r: 5.5 })],
  shade: () => [shape("circle", { cx: 10, cy: 6, r: 4.5 })],
  tag: () => [shape("rect", { x: 2, y: 1, width: 16, height: 10, rx: 5 })],
  badge: () => [shape("rect", { x: 2, y: 1.5, width: 16, height: 9, rx: 2 })],
  cell: () =>
    [0.25, 0.55, 0.9].map((shade, turn) =>
      shape("rect", { x: 2 + 6 * turn, y: 3, width: 5, height: 6, "fill-opacity": shade }),
    ),
};

export function swatch(role, colour) {
  const kind = `swatch ${role} ${colour ?? ""}`;
  return shape(
    "svg",
    { viewBox: "0 0 20 12", class: kind, "aria-hidden": "true" },
    SWATCHES[role](),
  );
}

export function legend(trace, looks) {
  return [
    key("wrong", "or dashed: wrong; small below it, the right value", "×"),
    key("pale", "pale: the net is not sure"),
    key("strip", "the redder, the more was wrong at that step"),
    ...(trace.has("A") && trace.has("s") ? [key("start", "where to start")] : []),
    ...(looks.order ? [key("loose", "left out of the order")] : []),
  ];
}

function key(kind, text, sign = "") {
  return element("span", { class: "entry" }, element("span", { class: `key ${kind}` }, sign), text);
}
