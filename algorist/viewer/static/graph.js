// Graphs: nodes and edges, with weights where they are few.

import { shape, titled } from "./dom.js";
import { circle, edgesOf, fitted } from "./layout.js";
import { arrow, at, classes, round, textWidth, towards } from "./marks.js";
import { headBox, Plane, radiusFor, RING } from "./plane.js";
import { short } from "./trace.js";

const FEW_EDGES = 24;
const MANY_EDGES = 60; // between which nothing is free
const ALONG = [0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72]; // where a weight may stand on its edge
const ROOM = 48; // pixels that a weight and the heads of arrows need on an edge
const BOTH = 0.12; // how much two opposite edges are bent

export class GraphPicture extends Plane {
  constructor(scene) {
    super(scene, radiusFor(scene.trace.nodes));
    const { trace } = scene;
    this.graph = trace.has("A") ? edgesOf(trace) : { edges: [], directed: false, weighted: false };
    this.ringed = trace.has("s") ? trace.input("s")[0] : -1; // where a search starts
    this.joined = new Set(this.graph.edges.map(({ i, j }) => `${i} ${j}`));
    this.svg.classList.toggle("crowded", this.graph.edges.length > MANY_EDGES);
  }

  placed() {
    const { places } = this.trace.data;
    const points = places ? places.map(([x, y]) => ({ x, y })) : circle(this.trace.nodes);
    return fitted(points, this, this.margins);
  }

  under() {
    const { edges, weighted } = this.graph;
    const lines = new Map(edges.map((edge) => [edge, [this.places[edge.i], this.places[edge.j]]]));
    if (edges.length <= MANY_EDGES) this.labels.lines.push(...lines.values());
    if (edges.length <= MANY_EDGES && this.graph.directed) this.coverHeads();
    const numbered = weighted && edges.length <= FEW_EDGES;
    const weights = numbered ? edges.map((edge) => this.weight(edge, lines.get(edge))) : [];
    this.above.replaceChildren(...weights);
    if (this.hasNumbers) this.placeNumbers();
    if (edges.length <= MANY_EDGES || this.graph.directed) return edges.map((edge) => this.edge(edge));
    const all = edges.map(({ i, j }) => this.line(i, j)).join(" "); // one shape is drawn faster
    return [shape("path", { class: "edge", d: all })];
  }

  coverHeads() {
    for (const { i, j, both } of this.graph.edges)
      this.labels.cover(headBox(this.places[i], this.places[j], both ? BOTH : 0, this.radius));
  }

  edge({ i, j, weight, both }) {
    const { names } = this.trace.data;
    const about = titled(`${names[i]}–${names[j]}: ${short(weight)}`);
    if (!this.graph.directed)
      return shape("path", { class: "edge", d: this.line(i, j) }, about);
    const line = arrow(this.places[i], this.places[j], {
      bend: both ? BOTH : 0,
      gaps: [this.radius, this.radius],
      colour: "plain",
      width: 1.3,
    });
    line.append(about);
    return line;
  }

  line(i, j) {
    return `M${at(this.places[i])} L${at(this.places[j])}`;
  }

  // On the edge, with a ground of its own; beside it where it would cover the head of an arrow.
  weight({ i, j, weight, both }, own) {
    const text = short(weight);
    const size = { width: Math.ceil(textWidth(text)) + 5, height: 14 };
    const [from, to] = [this.rim(i, j), this.rim(j, i)];
    const bend = both ? BOTH / 2 : 0;
    const [across, down] = [to.x - from.x, to.y - from.y];
    const long = Math.hypot(across, down) || 1;
    const beside = (size.width * Math.abs(down) + size.height * Math.abs(across)) / (2 * long) + 5;
    const shifts = long < ROOM ? [beside, -beside] : [0];
    const box = this.labels.place(
      shifts.flatMap((shift) =>
        ALONG.map((share) => ({
          x: from.x + across * share - down * (bend + shift / long) - size.width / 2,
          y: from.y + down * share + across * (bend + shift / long) - size.height / 2,
          ...size,
          own,
        })),
      ),
    );
    return shape(
      "g",
      { class: "weight" },
      shape("rect", { x: round(box.x), y: round(box.y), ...size, rx: 3 }),
      shape("text", { x: round(box.x + size.width / 2), y: round(box.y + 11) }, text),
    );
  }

  // Where an edge to another node leaves a node.
  rim(node, other) {
    const gap = this.radius + (node === this.ringed ? RING : 0);
    return towards(this.places[node], this.places[other], gap);
  }

  // Edges that a mask marks, and the node where a search starts.
  between(moment) {
    const marked = this.scene
      .features(moment, "edge")
      .flatMap((feature) => this.marked(feature, moment));
    if (this.ringed < 0) return marked;
    const { x, y } = this.places[this.ringed];
    return [
      ...marked,
      shape("circle", { class: "source", cx: round(x), cy: round(y), r: this.radius + RING }),
    ];
  }

  // A pointer lies on its edge in an undirected graph, and beside it in a directed one.
  bend(from, to, opposed) {
    const onEdge = this.joined.has(`${from} ${to}`) || this.joined.has(`${to} ${from}`);
    if (this.graph.directed) return opposed ? 0.3 : 0.2;
    return opposed || !onEdge ? 0.16 : 0;
  }

  // Trees are drawn as what they are when they are the answer.
  arrowWidth(moment, look) {
    const thick = moment === this.trace.answer && this.trace.nodes <= 24;
    return look.truth ? 6 : thick ? 4.5 : 2.6;
  }

  marked(feature, moment) {
    const { trace, side, withTruth, onlyDifferences } = this.scene;
    const n = trace.nodes;
    const values = trace.values(side, feature, moment);
    const wrong = trace.wrong(side, feature, moment);
    const colour = this.scene.looks.colour(feature);
    const lines = [];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) {
        const [one, other] = [i * n + j, j * n + i];
        const set = values[one] === 1 || values[other] === 1;
        const mistaken = wrong.has(one) || wrong.has(other);
        if ((!set && !mistaken) || (onlyDifferences && !mistaken)) continue;
        const missing = mistaken && !set;
        const kinds = { wrong: mistaken && !(missing && withTruth), missing, truth: missing && withTruth };
        lines.push(
          shape("path", { class: classes(`marked ${colour}`, kinds), d: this.line(i, j) }),
        );
      }
    }
    return lines;
  }
}
