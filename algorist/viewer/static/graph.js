// Graphs: nodes and edges, with weights where they are few.

import { shape, titled } from "./dom.js";
import { edgesOf, placed } from "./layout.js";
import { arrow, at, round, solidity } from "./marks.js";
import { margins, Plane, radiusFor } from "./plane.js";
import { short } from "./trace.js";

const FEW_EDGES = 22;

export class GraphPicture extends Plane {
  constructor(trace, looks, side) {
    const graph = trace.has("A") ? edgesOf(trace) : { edges: [], directed: false, weighted: false };
    const radius = radiusFor(trace.nodes);
    super(trace, looks, side, placed(trace, graph.edges, margins(radius)), radius);
    this.graph = graph;
    this.under.setAttribute("opacity", round(Math.max(0.2, Math.min(1, 80 / graph.edges.length))));
    const numbered = graph.weighted && graph.edges.length <= FEW_EDGES;
    this.under.append(
      ...graph.edges.map((edge) => this.edge(edge)),
      ...(numbered ? graph.edges.map((edge) => this.weight(edge)) : []),
    );
  }

  edge({ i, j, weight, both }) {
    const about = `${this.trace.data.names[i]}–${this.trace.data.names[j]}: ${short(weight)}`;
    if (!this.graph.directed)
      return shape("path", { class: "edge", d: this.line(i, j) }, titled(about));
    const bend = both ? -0.06 : 0;
    const line = arrow(this.places[i], this.places[j], {
      bend,
      gaps: [this.radius, this.radius],
      colour: "plain",
      width: 1.2,
    });
    line.append(titled(about));
    return line;
  }

  line(i, j) {
    return `M${at(this.places[i])} L${at(this.places[j])}`;
  }

  weight({ i, j, weight }) {
    const [from, to] = [this.places[i], this.places[j]];
    // Not in the middle, where the edges of a circle meet.
    const share = 0.5 - 0.12 * Math.sign(((i + j) % 3) - 1);
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const beside = 7 / (Math.hypot(dx, dy) || 1);
    const side = dx > 0 || (dx === 0 && dy > 0) ? 1 : -1; // above the line
    const x = from.x + dx * share + dy * beside * side;
    const y = from.y + dy * share - dx * beside * side;
    return shape(
      "text",
      { class: "weight", x: round(x), y: round(y), dy: "0.35em" },
      short(weight),
    );
  }

  // Edges that a mask marks, and the node where a search starts.
  between(moment) {
    const marked = this.looks
      .drawn(moment, "edge", this.side)
      .flatMap((feature) => this.marked(feature, moment));
    const source = this.trace.has("s") ? this.trace.input("s")[0] : -1;
    if (source < 0) return marked;
    const { x, y } = this.places[source];
    return [
      ...marked,
      shape("circle", { class: "source", cx: round(x), cy: round(y), r: this.radius + 7 }),
    ];
  }

  marked(feature, moment) {
    const { trace, side } = this;
    const n = trace.nodes;
    const values = trace.values(side, feature, moment);
    const wrong = trace.wrong(side, feature, moment);
    const confidence = trace.confidence(side, feature, moment);
    const lines = [];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) {
        const [one, other] = [i * n + j, j * n + i];
        const set = values[one] === 1 || values[other] === 1;
        const mistaken = wrong.has(one) || wrong.has(other);
        if (!set && !mistaken) continue;
        const colour = mistaken ? "wrong" : this.looks.colour(feature);
        const kind = `marked ${colour} ${set ? "" : "missing"}`;
        lines.push(
          shape("path", {
            class: kind,
            d: this.line(i, j),
            opacity: round(solidity(confidence?.[one])),
          }),
        );
      }
    }
    return lines;
  }
}
