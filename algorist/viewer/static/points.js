// Points of geometry, with segments or a hull.

import { shape } from "./dom.js";
import { fitted } from "./layout.js";
import { at } from "./marks.js";
import { Plane, radiusFor } from "./plane.js";

export class PointsPicture extends Plane {
  constructor(scene) {
    super(scene, Math.min(radiusFor(scene.trace.nodes), 12), 8); // points may be very near
  }

  placed() {
    const [xs, ys] = [this.trace.input("x"), this.trace.input("y")];
    const points = xs.map((x, node) => ({ x, y: -ys[node] }));
    return fitted(points, this, this.margins, { even: true });
  }

  under() {
    const line = (i, j) => `M${at(this.places[i])} L${at(this.places[j])}`;
    const segments = areSegments(this.trace) ? [[0, 1], [2, 3]] : [];
    for (const [i, j] of segments) this.labels.avoid(this.places[i], this.places[j]);
    if (this.hasNumbers) this.placeNumbers();
    return segments.map(([i, j]) => shape("path", { class: "segment", d: line(i, j) }));
  }

  // The hull of the corners that a mask marks, and the line that is being turned.
  between(moment) {
    const { side, trace } = this.scene;
    const mask = this.scene
      .features(moment, "fill")
      .find((feature) => feature.name.startsWith("in_hull"));
    const ray = this.ray(moment);
    if (!mask) return ray;
    const values = trace.values(side, mask, moment);
    const corners = this.places.filter((_, node) => values[node] === 1);
    const centre = (axis) =>
      corners.reduce((sum, corner) => sum + corner[axis], 0) / (corners.length || 1);
    const [cx, cy] = [centre("x"), centre("y")];
    const angle = ({ x, y }) => Math.atan2(y - cy, x - cx);
    const points = corners.sort((a, b) => angle(a) - angle(b)).map(at);
    const kind = moment === trace.answer ? "hull answer" : "hull";
    return [shape("polygon", { class: kind, points: points.join(" ") }), ...ray];
  }

  // From the latest corner to the best next one so far, where there are such.
  ray(moment) {
    const { side, trace } = this.scene;
    const ends = ["last_point", "endpoint"].map((name) =>
      trace.at(moment).find((feature) => feature.name === name),
    );
    if (!ends.every(Boolean) || this.scene.isSilent(side, moment)) return [];
    const [from, to] = ends.map((feature) => this.places[trace.values(side, feature, moment)[0]]);
    if (!from || !to) return [];
    return [shape("path", { class: "ray", d: `M${at(from)} L${at(to)}` })];
  }
}

// Four points about which one asks something as a whole are the ends of two segments.
function areSegments(trace) {
  return trace.nodes === 4 && trace.outputs.every((output) => output.location === "graph");
}
