// What is to be seen of a trace on one side, and how: as it is, over the truth, or where it differs.

const UNSURE = 85; // percent, below which it is shown how sure the net is

export class Scene {
  constructor(trace, looks, side) {
    Object.assign(this, { trace, looks, side, mode: "plain" });
    this.kept = new Map(); // the styles of the moments drawn last
  }

  get withTruth() {
    return this.mode !== "plain";
  }

  get onlyDifferences() {
    return this.mode === "differences";
  }

  // Whether there is anything to be seen: a net that only answers has no steps.
  isSilent(side, moment) {
    return side === "net" && this.trace.silent && moment < this.trace.steps;
  }

  features(moment, kind) {
    return this.looks.drawn(moment, kind, this.side);
  }

  // What a node is to the algorithm: a style, and the right one where that differs and is wanted.
  role(moment, node) {
    const style = this.styles(this.side, moment)[node];
    const truth = this.styles("algorithm", moment)[node];
    const wrong = style !== truth && !this.isSilent(this.side, moment);
    if (this.onlyDifferences && !wrong) return { style: "plain", wrong: false, truth: null };
    const confidence = unsure(this.confidence(moment, node));
    return { style, wrong, truth: wrong && this.withTruth ? truth : null, confidence };
  }

  styles(side, moment) {
    const key = `${side} ${moment}`;
    if (!this.kept.has(key)) {
      if (this.kept.size > 8) this.kept.clear();
      this.kept.set(key, this.stylesOf(side, moment));
    }
    return this.kept.get(key);
  }

  stylesOf(side, moment) {
    const styles = Array(this.trace.nodes).fill("plain");
    if (this.isSilent(side, moment)) return styles;
    for (const role of this.shownRoles(moment)) {
      for (const node of this.trace.roleNodes(role, side, moment)) styles[node] = role.style;
    }
    return styles;
  }

  shownRoles(moment) {
    return this.trace.roles(moment).filter((role) => this.looks.showsRole(role));
  }

  forget() {
    this.kept.clear();
  }

  // How sure the net is of what fills a node, in percent.
  confidence(moment, node) {
    const said = this.features(moment, "fill")
      .map((feature) => this.trace.confidence(this.side, feature, moment)?.[node])
      .filter((percent) => percent !== undefined);
    return said.length ? Math.min(...said) : undefined;
  }

  // A node's number, or null where there is none to be seen.
  number(moment, node) {
    const [feature] = this.features(moment, "shade");
    const found = feature && this.value(feature, moment, node);
    if (!found || found.wrong || this.styles(this.side, moment)[node] !== "plain") return found;
    // Next to nothing, at a node that nothing has happened to: it is not known yet.
    return this.trace.share(feature, found.value) > this.trace.data.tolerance ? found : null;
  }

  // A number, whether it is wrong or only slightly off, and how it is written.
  value(feature, moment, place) {
    const { trace, side } = this;
    const value = trace.values(side, feature, moment)[place];
    const truth = trace.values("algorithm", feature, moment)[place];
    const wrong = trace.wrong(side, feature, moment).has(place);
    if (this.onlyDifferences && !wrong) return null;
    const [ours, theirs] = [value, truth].map((each) => this.trace.number(feature, each));
    const off = !wrong && ours !== theirs;
    const text = wrong && this.withTruth ? `${ours}≠${theirs}` : ours;
    return { text: off ? `≈${text}` : text, value, wrong, off };
  }

  // The pointers that arrows show: not those to a node itself, or to none.
  pointers(moment) {
    return this.features(moment, "arrow").flatMap((feature, turn) =>
      this.pointersOf(feature, moment).map((pointer) => ({ ...pointer, turn })),
    );
  }

  pointersOf(feature, moment) {
    const { trace, looks, side } = this;
    const colour = looks.colour(feature);
    const wrong = trace.wrong(side, feature, moment);
    const confidence = trace.confidence(side, feature, moment);
    const truths = trace.values("algorithm", feature, moment);
    return trace.values(side, feature, moment).flatMap((to, from) => {
      const mistaken = wrong.has(from);
      const look = { colour, wrong: mistaken, confidence: unsure(confidence?.[from]) };
      const found = [];
      if (mistaken && this.withTruth) {
        found.push({ from, to: truths[from], look: { colour, truth: true } });
      }
      if (mistaken || !this.onlyDifferences) found.push({ from, to, look });
      return found.filter((pointer) => pointer.to !== from && pointer.to >= 0);
    });
  }

  // The tags at each node: the hints that are one of the nodes.
  tags(moment) {
    const found = new Map();
    const add = (node, tag) => {
      if (node < 0) return;
      if (!found.has(node)) found.set(node, []);
      found.get(node).push(tag);
    };
    for (const feature of this.features(moment, "tag")) {
      const wrong = this.trace.wrong(this.side, feature, moment).size > 0;
      if (this.onlyDifferences && !wrong) continue;
      const [node] = this.trace.values(this.side, feature, moment);
      const confidence = unsure(this.trace.confidence(this.side, feature, moment)?.[0]);
      add(node, { text: tagName(feature), wrong, confidence });
      const [truth] = this.trace.values("algorithm", feature, moment);
      if (wrong && this.withTruth) add(truth, { text: tagName(feature), truth: true });
    }
    return found;
  }

  // Everything about a node, for those who point at it.
  about(moment, node) {
    const { trace, side } = this;
    const lines = [`node ${trace.data.names[node]}`];
    for (const feature of trace.at(moment).filter((each) => each.location === "node")) {
      const values = trace.values(side, feature, moment);
      if (feature.kind !== "mask_one") lines.push(told(trace, side, feature, moment, node));
      else if (values[0] === node) lines.push(`${feature.name} is here`);
    }
    return lines.join("\n");
  }
}

// What stands in a tag: the name as people write it.
export function tagName({ name }) {
  return name.replace(/_h$/, "").replaceAll("_", " ");
}

// A percentage that is worth showing.
export function unsure(percent) {
  return percent !== undefined && percent < UNSURE ? percent : undefined;
}

// A value of a feature, how sure the net is of it, and what it should be if it is wrong.
export function told(trace, side, feature, moment, place) {
  const value = trace.values(side, feature, moment)[place];
  const confidence = trace.confidence(side, feature, moment)?.[place];
  const truth = trace.values("algorithm", feature, moment)[place];
  const sure = confidence === undefined ? "" : ` (${confidence} % sure)`;
  const wrong = trace.wrong(side, feature, moment).has(place);
  const instead = wrong ? `, should be ${trace.text(feature, truth)}` : "";
  return `${feature.name}: ${trace.text(feature, value)}${sure}${instead}`;
}
