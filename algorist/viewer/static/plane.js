// Pictures in the plane: graphs with nodes and edges, and points of geometry.

import { shape, titled } from "./dom.js";
import { about, arrow, nodeIsWrong, parts, round, solidity, tagRow, tagsByNode } from "./marks.js";
import { edgesOf, fitted, HEIGHT, placed, WIDTH } from "./layout.js";
import { short } from "./trace.js";

const FEW_EDGES = 22;
const FEW_NODES = 20;

class Plane {
  constructor(trace, looks, side, places, radius) {
    Object.assign(this, { trace, looks, side, places, radius });
    this.under = shape("g", {});
    this.over = shape("g", {});
    this.svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "picture plane", role: "img" }, this.under, this.over);
  }

  draw(moment) {
    const nodes = this.places.map((_, node) => this.node(moment, node));
    this.over.replaceChildren(...this.between(moment), ...this.arrows(moment), ...nodes, ...this.tags(moment));
  }

  between() {
    return [];
  }

  arrows(moment) {
    const { trace, looks, side, places, radius } = this;
    return looks.drawn(moment, "arrow").flatMap((feature, turn) => {
      const wrong = trace.wrong(side, feature, moment);
      const confidence = trace.confidence(side, feature, moment);
      return trace.values(side, feature, moment).map((to, from) =>
        to === from || to < 0
          ? null
          : arrow(places[from], places[to], {
              bend: 0.12 + 0.1 * turn,
              gaps: [radius + 1, radius + 3],
              colour: looks.colour(feature),
              wrong: wrong.has(from),
              confidence: confidence?.[from],
            }),
      ).filter(Boolean);
    });
  }

  node(moment, node) {
    const { trace, looks, side, radius } = this;
    const { x, y } = this.places[node];
    const wrong = nodeIsWrong(trace, looks, side, moment, node);
    const [shade] = looks.drawn(moment, "shade");
    const filled = parts(trace, looks, side, moment, node);
    const strong = filled.some((part) => part.shade > 0.6 && solidity(part.confidence) > 0.6 && part.colour !== "amber");
    return shape(
      "g",
      { class: `node ${strong && filled.length === 1 ? "strong" : ""}`, transform: `translate(${round(x)},${round(y)})` },
      titled(about(trace, side, moment, node)),
      shape("circle", { r: radius, class: "back" }),
      filled.map((part, turn) => sector(radius, turn, filled.length, part)),
      shape("circle", { r: radius, class: "ring" }),
      shade ? this.ring(shade, moment, node) : null,
      wrong ? cross(radius) : null,
      shape("text", { class: "name", "font-size": this.nameSize(node), dy: "0.35em" }, this.name(node)),
    );
  }

  name(node) {
    const name = this.trace.data.names[node];
    return name.length > 5 ? `${name.slice(0, 4)}…` : name;
  }

  nameSize(node) {
    return round(Math.min(13, this.radius, (2.6 * this.radius) / Math.max(2, this.name(node).length)));
  }

  // A number: a ring, the darker the larger, and its digits where there is room for them.
  ring(feature, moment, node) {
    const value = this.trace.values(this.side, feature, moment)[node];
    const wrong = this.trace.wrong(this.side, feature, moment).has(node);
    const digits = this.trace.nodes <= FEW_NODES;
    return shape(
      "g",
      { class: `shade ${wrong ? "wrong" : ""}` },
      shape("circle", { r: this.radius + 2.5, "stroke-opacity": round(0.08 + 0.92 * this.trace.share(feature, value)) }),
      digits ? shape("text", { y: this.radius + 15 }, short(value)) : null,
    );
  }

  tags(moment) {
    const found = tagsByNode(this.trace, this.looks, this.side, moment);
    return [...found].map(([node, tags]) => {
      const { x, y } = this.places[node];
      const above = y - this.radius - 20 > 0;
      return tagRow(tags, x, above ? y - this.radius - 20 : y + this.radius + 18, [0, WIDTH]);
    });
  }
}

function radiusFor(n) {
  return n <= 10 ? 18 : n <= 16 ? 16 : n <= 24 ? 13 : n <= 40 ? 10 : 8;
}

// Room for numbers and tags around the outermost nodes.
function margins(radius) {
  return [radius + 10, radius + 22];
}

// One of the parts into which masks and classes divide a node.
function sector(radius, turn, count, part) {
  const kind = `part ${part.wrong ? "wrong" : ""} ${part.colour}`;
  const look = { class: kind, "fill-opacity": round(part.shade * solidity(part.confidence)) };
  if (count === 1) return shape("circle", { ...look, r: radius });
  const [from, to] = [turn, turn + 1].map((k) => (2 * Math.PI * k) / count - Math.PI / 2);
  const at = (angle) => `${round(radius * Math.cos(angle))},${round(radius * Math.sin(angle))}`;
  const large = to - from > Math.PI ? 1 : 0;
  return shape("path", { ...look, d: `M0,0 L${at(from)} A${radius},${radius} 0 ${large} 1 ${at(to)} Z` });
}

// The badge of a node of which something is wrong.
function cross(radius) {
  const at = radius * 0.78;
  return shape(
    "g",
    { class: "cross", transform: `translate(${round(at)},${round(-at)})` },
    shape("circle", { r: radius > 8 ? 6 : 4 }),
    radius > 8 ? shape("path", { d: "M-2.6,-2.6 L2.6,2.6 M2.6,-2.6 L-2.6,2.6" }) : null,
  );
}

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
    if (!this.graph.directed) return shape("path", { class: "edge", d: this.line(i, j) }, titled(about));
    const bend = both ? -0.06 : 0;
    const line = arrow(this.places[i], this.places[j], { bend, gaps: [this.radius, this.radius], colour: "plain", width: 1.2 });
    line.append(titled(about));
    return line;
  }

  line(i, j) {
    const [from, to] = [this.places[i], this.places[j]];
    return `M${round(from.x)},${round(from.y)} L${round(to.x)},${round(to.y)}`;
  }

  weight({ i, j, weight }) {
    const [from, to] = [this.places[i], this.places[j]];
    // Not in the middle, where the edges of a circle meet.
    const share = 0.5 - 0.12 * Math.sign(((i + j) % 3) - 1);
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const beside = 7 / (Math.hypot(dx, dy) || 1);
    const side = dx > 0 || (dx === 0 && dy > 0) ? 1 : -1; // above the line
    const [x, y] = [from.x + dx * share + dy * beside * side, from.y + dy * share - dx * beside * side];
    return shape("text", { class: "weight", x: round(x), y: round(y), dy: "0.35em" }, short(weight));
  }

  // Edges that a mask marks, and the node where a search starts.
  between(moment) {
    const marked = this.looks.drawn(moment, "edge").flatMap((feature) => this.marked(feature, moment));
    const source = this.trace.has("s") ? this.trace.input("s")[0] : -1;
    if (source < 0) return marked;
    const { x, y } = this.places[source];
    return [...marked, shape("circle", { class: "source", cx: round(x), cy: round(y), r: this.radius + 7 })];
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
        const kind = `marked ${mistaken ? "wrong" : this.looks.colour(feature)} ${set ? "" : "missing"}`;
        lines.push(shape("path", { class: kind, d: this.line(i, j), opacity: round(solidity(confidence?.[one])) }));
      }
    }
    return lines;
  }
}

export class PointsPicture extends Plane {
  constructor(trace, looks, side) {
    const [xs, ys] = [trace.input("x"), trace.input("y")];
    const radius = Math.min(radiusFor(trace.nodes), 11);
    const places = fitted(xs.map((x, node) => ({ x, y: -ys[node] })), margins(radius), { even: true });
    super(trace, looks, side, places, radius);
    // Four points of which one asks something as a whole are the ends of two segments.
    const segments = trace.nodes === 4 && trace.outputs.every((output) => output.location === "graph");
    if (segments) {
      this.under.append(
        ...[[0, 1], [2, 3]].map(([i, j]) =>
          shape("line", { class: "segment", x1: places[i].x, y1: places[i].y, x2: places[j].x, y2: places[j].y }),
        ),
      );
    }
  }

  // The outline of the points that a mask marks, if that is what the picture is about.
  between(moment) {
    const mask = this.looks.drawn(moment, "fill").find((feature) => feature.name.startsWith("in_hull"));
    if (!mask) return [];
    const values = this.trace.values(this.side, mask, moment);
    const corners = this.places.filter((_, node) => values[node] === 1);
    const centre = (axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / (corners.length || 1);
    const [cx, cy] = [centre("x"), centre("y")];
    const angle = ({ x, y }) => Math.atan2(y - cy, x - cx);
    const points = corners.sort((a, b) => angle(a) - angle(b)).map(({ x, y }) => `${round(x)},${round(y)}`);
    return [shape("polygon", { class: "outline", points: points.join(" ") })];
  }
}
