// How each feature is drawn: its role follows from its location and kind, its colour from its turn.
//
//   arrow  a node's pointer             tag    one of the nodes
//   fill   what gives a node its role   edge   a mask on a graph's edges
//   shade  a node's number              cell   an entry of a matrix
//   tree   a node's parent in a heap    badge  a value of the whole graph
//                                       none   in the list of values alone

import { isPointer } from "./trace.js";

const COLOURS = {
  arrow: ["blue", "purple", "green"],
  edge: ["green", "blue"],
  tree: ["blue"],
};

export class Looks {
  constructor(trace) {
    this.trace = trace;
    this.order = chainOf(trace);
    this.roles = new Map();
    this.colours = new Map();
    const turns = {};
    for (const feature of [...trace.hints, ...trace.outputs]) {
      const role = roleOf(trace, feature, this.order);
      this.roles.set(feature.name, role);
      const palette = COLOURS[role];
      if (!palette) continue;
      const bases = (turns[role] ??= []); // a hint and the output of its name have one colour
      if (!bases.includes(baseOf(feature))) bases.push(baseOf(feature));
      this.colours.set(feature.name, palette[bases.indexOf(baseOf(feature)) % palette.length]);
    }
    this.visible = new Set(visibleAtFirst(trace, this));
    this.hidden = new Set(); // what somebody does not want to see
  }

  role(feature) {
    return this.roles.get(feature.name);
  }

  colour(feature) {
    return this.colours.get(feature.name);
  }

  // The features of a moment that are drawn in one role, on one side.
  drawn(moment, role, side = "algorithm") {
    if (side === "net" && this.trace.silent && moment < this.trace.steps) return [];
    return this.trace
      .at(moment)
      .filter((feature) => this.role(feature) === role && this.visible.has(feature.name));
  }

  // How many features a role has, at any one moment.
  count(role) {
    return Math.max(...[0, this.trace.answer].map((moment) => this.drawn(moment, role).length));
  }

  // Whether anything is drawn in a matrix, at some moment.
  get hasMatrix() {
    return [...this.roles.values()].includes("cell");
  }

  // Whether a role of nodes is shown: unless one of the features that it follows from is hidden.
  showsRole({ features }) {
    return !features.some((name) => this.hidden.has(name));
  }

  toggle(name) {
    if (this.visible.delete(name)) this.hidden.add(name);
    else {
      this.visible.add(name);
      this.hidden.delete(name);
    }
  }
}

function roleOf(trace, feature, order) {
  if (feature.location === "graph") return "badge";
  if (feature.kind === "mask_one") return "tag";
  if (feature.location === "edge") return onEdges(trace, feature) ? "edge" : "cell";
  if (isPointer(feature)) return feature.name === "parent" && order ? "tree" : "arrow";
  if (feature.kind === "scalar") return "shade";
  return isInRole(trace, feature) ? "fill" : "none";
}

function isInRole(trace, { name }) {
  const { roles, answer } = trace.data.explanation;
  return [...roles, ...answer].some(({ features }) => features.includes(name));
}

// Masks are drawn on a graph's edges, unless there are matrices that they belong to.
function onEdges(trace, feature) {
  const others = trace.hints.some((hint) => hint.location === "edge" && hint.kind !== "mask");
  return feature.kind === "mask" && trace.has("A") && !others;
}

function baseOf(feature) {
  return feature.name.replace(/_h$/, "");
}

// A pointer hint that at every step chains all nodes, each but the first to the one before it.
function chainOf(trace) {
  const arrays = !trace.has("A") && !trace.has("x") && !trace.has("string");
  const chains = (hint) =>
    trace.data.hints[hint.name].algorithm.every((pointers) => chainOrder(pointers).whole);
  const found = trace.hints.find((hint) => isPointer(hint) && hint.predicted && chains(hint));
  return (arrays && found) || null;
}

// The nodes in the order of a chain, those that it leaves out behind the others.
export function chainOrder(pointers) {
  const next = new Map();
  let first = -1;
  pointers.forEach((before, node) => {
    if (before === node) first = first < 0 ? node : first;
    else if (!next.has(before)) next.set(before, node);
  });
  const order = [];
  const seen = new Set();
  for (let node = first; node >= 0 && !seen.has(node); node = next.get(node)) {
    seen.add(node);
    order.push(node);
  }
  const chained = order.length;
  pointers.forEach((_, node) => seen.has(node) || order.push(node));
  return { order, chained, whole: chained === pointers.length };
}

// Of arrows, numbers at nodes and numbers in cells, one is enough to begin with. What never changes
// or is known to the net is left out.
function visibleAtFirst(trace, looks) {
  const taken = new Set();
  const { tags, badges, number, answer } = trace.data.explanation;
  const marksEdges = trace.hints.some((hint) => looks.role(hint) === "edge" && !trace.constant(hint));
  const isShown = (hint) => {
    const role = looks.role(hint);
    const known = !hint.predicted && !trace.silent;
    if (hint === looks.order || (role === "arrow" && (known || marksEdges))) return false;
    if (role === "edge" && trace.constant(hint)) return false;
    if (role === "shade" && number) return hint.name === number;
    if (role === "tag") return tags?.includes(hint.name) ?? true;
    if (role === "badge") return badges?.includes(hint.name) ?? true;
    const group = role === "cell" && hint.kind === "scalar" ? "number" : role;
    if (!["arrow", "shade", "number"].includes(group)) return true;
    return !taken.has(group) && taken.add(group);
  };
  const isOrder = (output) => looks.order && output.kind === "should_be_permutation";
  // Arrows to whoever stands for a group say no more than its colour.
  const isGrouped = (output) =>
    answer.some(({ style, features }) => style === "group0" && features.includes(output.name));
  const shown = [
    ...trace.hints.filter(isShown),
    ...trace.outputs.filter((output) => !isOrder(output) && !isGrouped(output)),
  ];
  return shown.map((feature) => feature.name);
}
