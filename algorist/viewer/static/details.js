// All features of a moment: what each means, how it is drawn, its values, and how right they are.

import { element, shape } from "./dom.js";
import { doubts, solidity } from "./marks.js";
import { mean } from "./trace.js";

const ROLES = {
  arrow: "arrows", fill: "fills", tag: "tags", shade: "numbers at nodes", edge: "marked edges", cell: "the matrix", badge: "above the picture",
};

export class Details {
  constructor(seek, redraw) {
    this.seek = seek;
    this.redraw = redraw;
    this.list = element("ul", { class: "features" });
    this.title = element("h2", {});
    this.legend = element("p", { class: "legend" });
    this.parts = [element("div", { class: "heading" }, this.title, this.legend), this.list];
  }

  load(trace, looks) {
    Object.assign(this, { trace, looks, rows: new Map() });
    this.legend.replaceChildren(...legend(trace, looks));
    for (const feature of [...trace.hints, ...trace.outputs]) this.rows.set(feature.name, this.row(feature));
  }

  row(feature) {
    const { looks } = this;
    const role = looks.role(feature);
    const order = feature === looks.order;
    const box = element("input", {
      type: "checkbox",
      checked: looks.visible.has(feature.name),
      onchange: () => { looks.toggle(feature.name); this.redraw(); },
    });
    const note = order ? "order of the bars" : feature.predicted ? ROLES[role] : "given to the net";
    const [right, sure] = [element("span", { class: "rightness" }), element("span", { class: "sure" })];
    const values = element("div", { class: "values", tabindex: 0, role: "group", "aria-label": `values of ${feature.name}` });
    const item = element(
      "li", { class: "feature" },
      element(
        "label", { class: "what", title: `draw ${feature.name}` },
        box, swatch(role, looks.colour(feature)), element("b", {}, feature.name),
        element("span", { class: "meaning" }, feature.meaning), element("span", { class: "note" }, note),
      ),
      this.strip(feature), right, sure, values,
    );
    return { item, right, sure, values };
  }

  // How right a hint is over time: the redder, the more of it is wrong.
  strip(feature) {
    const shares = this.trace.shares(feature);
    if (!shares) return element("span", { class: "strip none" });
    const click = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      this.seek(Math.floor(((event.clientX - box.left) / box.width) * shares.length));
    };
    const bars = runs(shares).map(([share, from, to]) =>
      shape("rect", { x: from, width: to - from + 0.02, y: 0, height: 1, class: share === null ? "unknown" : "", "fill-opacity": share === null ? 1 : share === 1 ? 0 : 0.25 + 0.75 * (1 - share) }),
    );
    const wrong = shares.filter((share) => share !== null && share < 1).length;
    return shape(
      "svg",
      { class: "strip", viewBox: `0 0 ${shares.length} 1`, preserveAspectRatio: "none", role: "img", "aria-label": `${feature.name}: mistakes at ${wrong} of ${shares.length} steps`, onclick: click },
      bars,
    );
  }

  draw(moment) {
    const { trace } = this;
    const features = trace.at(moment);
    this.title.textContent = moment === trace.answer ? "The answer, value by value" : `Step ${moment}, value by value`;
    const items = features.map((feature) => this.rows.get(feature.name).item);
    if (items.some((item, i) => this.list.children[i] !== item) || this.list.children.length !== items.length) {
      this.list.replaceChildren(...items);
    }
    for (const feature of features) this.update(feature, moment);
  }

  update(feature, moment) {
    const { trace } = this;
    const { right, sure, values } = this.rows.get(feature.name);
    const share = feature.stage === "output" ? outputShare(trace, feature) : trace.shares(feature)?.[moment];
    right.textContent = share === null || share === undefined ? "" : `${percent(share)} right`;
    right.classList.toggle("wrong", share < 1);
    const confidence = trace.confidence("net", feature, moment);
    const given = moment === 0 && feature.stage === "hint";
    sure.textContent = given && feature.predicted ? "given" : confidence ? `${percent(mean(confidence) / 100)} sure` : "";
    values.replaceChildren(...(feature.location === "edge" ? [this.many(feature, moment)] : this.cells(feature, moment)));
  }

  many(feature, moment) {
    const wrong = this.trace.wrong("net", feature, moment).size;
    const all = this.trace.values("algorithm", feature, moment).length;
    return element("span", { class: "many" }, feature.predicted ? `${all} entries, ${wrong || "none"} wrong` : `${all} entries`);
  }

  cells(feature, moment) {
    const { trace } = this;
    const [net, truth] = ["net", "algorithm"].map((side) => trace.values(side, feature, moment));
    const wrong = trace.wrong("net", feature, moment);
    const confidence = trace.confidence("net", feature, moment);
    return net.map((value, place) => {
      const differs = wrong.has(place);
      const cell = element(
        "span",
        { class: `value ${differs ? "wrong" : ""}`, title: `${feature.name}${net.length > 1 ? ` of ${trace.data.names[place]}` : ""}: ${trace.text(feature, value)}${doubts(trace, "net", feature, moment, place)}` },
        net.length > 1 ? element("i", {}, trace.data.names[place].slice(0, 5)) : null,
        element("span", {}, sign(trace, feature, value)),
        element("small", {}, differs ? sign(trace, feature, truth[place]) : ""),
      );
      if (confidence) cell.children[net.length > 1 ? 1 : 0].style.opacity = Math.max(0.4, solidity(confidence[place]));
      return cell;
    });
  }
}

function sign(trace, feature, value) {
  if (feature.kind !== "mask") return trace.text(feature, value);
  return value < 0 ? "–" : value ? "●" : "○";
}

function outputShare(trace, feature) {
  const { algorithm, wrong } = trace.data.outputs[feature.name];
  return 1 - wrong.length / algorithm.length;
}

function percent(share) {
  return `${Math.floor(share * 100)} %`;
}

// Steps in a row that have the same share: [share, first, behind the last].
function runs(shares) {
  const found = [];
  shares.forEach((share, step) => {
    if (found.length && found.at(-1)[0] === share) found.at(-1)[2] = step + 1;
    else found.push([share, step, step + 1]);
  });
  return found;
}

const SWATCHES = {
  arrow: () => [shape("path", { d: "M2 8 Q9 1 15 6" }), shape("polygon", { points: "19,9 12,9 16,3" })],
  edge: () => [shape("path", { d: "M2 10 L18 2", "stroke-width": 4 })],
  fill: () => [shape("circle", { cx: 10, cy: 6, r: 5.5 })],
  shade: () => [shape("circle", { cx: 10, cy: 6, r: 4.5, fill: "none" })],
  tag: () => [shape("rect", { x: 2, y: 1, width: 16, height: 10, rx: 5 })],
  cell: () => [0.25, 0.55, 0.9].map((shade, turn) => shape("rect", { x: 2 + 6 * turn, y: 3, width: 5, height: 6, "fill-opacity": shade })),
  badge: () => [shape("rect", { x: 2, y: 1.5, width: 16, height: 9, rx: 2, fill: "none" })],
};

function swatch(role, colour) {
  return shape("svg", { viewBox: "0 0 20 12", class: `swatch ${role} ${colour ?? ""}`, "aria-hidden": "true" }, SWATCHES[role]());
}

function legend(trace, looks) {
  const key = (kind, text, sign = "") => element("span", { class: "entry" }, element("span", { class: `key ${kind}` }, sign), text);
  return [
    key("wrong", "or dashed: wrong; small below it, the right value", "×"),
    key("pale", "pale: the net is not sure"),
    key("strip", "the redder, the more was wrong at that step"),
    ...(trace.has("A") && trace.has("s") ? [key("start", "where to start")] : []),
    ...(looks.order ? [key("loose", "left out of the order")] : []),
  ];
}
