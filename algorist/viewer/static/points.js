// Points of geometry, with segments or a hull.

import { shape } from "./dom.js";
import { fitted } from "./layout.js";
import { at } from "./marks.js";
import { margins, Plane, radiusFor } from "./plane.js";

export class PointsPicture extends Plane {
  constructor(trace, looks, side) {
    const [xs, ys] = [trace.input("x"), trace.input("y")];
    const radius = Math.min(radiusFor(trace.nodes), 11);
    const places = fitted(
      xs.map((x, node) => ({ x, y: -ys[node] })),
      margins(radius),
      { even: true },
    );
    super(trace, looks, side, places, radius);
    if (areSegments(trace)) {
      const line = (i, j) => `M${at(places[i])} L${at(places[j])}`;
      this.under.append(shape("path", { class: "segment", d: `${line(0, 1)} ${line(2, 3)}` }));
    }
  }

  // The outline of the points that a mask marks, if that is what the picture is about.
  between(moment) {
    const mask = this.looks
      .drawn(moment, "fill", this.side)
      .find((feature) => feature.name.startsWith("in_hull"));
    if (!mask) return [];
    const values = this.trace.values(this.side, mask, moment);
    const corners = this.places.filter((_, node) => values[node] === 1);
    const centre = (axis) =>
      corners.reduce((sum, corner) => sum + corner[axis], 0) / (corners.length || 1);
    const [cx, cy] = [centre("x"), centre("y")];
    const angle = ({ x, y }) => Math.atan2(y - cy, x - cx);
    const points = corners.sort((a, b) => angle(a) - angle(b)).map(at);
    return [shape("polygon", { class: "outline", points: points.join(" ") })];
  }
}

// Four points about which one asks something as a whole are the ends of two segments.
function areSegments(trace) {
  return trace.nodes === 4 && trace.outputs.every((output) => output.location === "graph");
}
