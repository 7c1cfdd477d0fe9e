// All features of a moment: what each means, how it is drawn, its values, and how right they are.

import { element, shape } from "./dom.js";
import { told, unsure } from "./scene.js";
import { legend, swatch } from "./swatches.js";
import { counted, mean } from "./trace.js";

const ROLES = {
  arrow: "arrows",
  fill: "colours",
  tag: "tags",
  shade: "numbers at nodes",
  edge: "marked edges",
  cell: "the matrix",
  tree: "the heap",
  none: "not drawn",
  badge: "above the picture",
};

export class Details {
  constructor(seek, redraw) {
    Object.assign(this, { seek, redraw });
    this.list = element("ul", { class: "features" });
    this.title = element("h2", {});
    this.legend = element("p", { class: "legend" });
    this.parts = [element("div", { class: "heading" }, this.title, this.legend), this.list];
  }

  load(trace, looks) {
    Object.assign(this, { trace, looks, rows: new Map(), seen: 0 });
    this.legend.replaceChildren(...legend());
    for (const feature of [...trace.hints, ...trace.outputs]) {
      this.rows.set(feature.name, this.row(feature));
    }
  }

  row(feature) {
    const right = element("span", { class: "rightness" });
    const sure = element("span", { class: "sure" });
    const label = `values of ${feature.name}`;
    const values = element("div", {
      class: "values",
      tabindex: 0,
      role: "group",
      "aria-label": label,
    });
    const parts = [this.what(feature), this.strip(feature), right, sure, values];
    return { item: element("li", { class: "feature" }, parts), right, sure, values };
  }

  // Its name and meaning, and whether it is drawn.
  what(feature) {
    const { looks } = this;
    const role = looks.role(feature);
    const toggle = () => {
      looks.toggle(feature.name);
      this.redraw();
    };
    const checked = looks.visible.has(feature.name);
    const unpredicted = this.trace.silent ? "not predicted" : "given to the net";
    const note =
      feature === looks.order ? "order of the bars" : feature.predicted ? ROLES[role] : unpredicted;
    return element(
      "label",
      { class: "what", title: `draw ${feature.name}` },
      element("input", { type: "checkbox", checked, onchange: toggle }),
      swatch(role, looks.colour(feature)),
      element("b", {}, feature.name),
      element("span", { class: "meaning" }, feature.meaning),
      element("span", { class: "note" }, note),
    );
  }

  // How right a hint is over time: the redder, the more of it is wrong.
  strip(feature) {
    const shares = this.trace.shares(feature);
    if (!shares) return element("span", { class: "strip none" });
    const steps = shares.length;
    const onclick = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      this.seek(Math.floor(((event.clientX - box.left) / box.width) * steps));
    };
    const wrong = shares.filter((share) => share !== null && share < 1).length;
    const label = `${feature.name}: mistakes at ${wrong} of ${counted(steps, "step")}`;
    return shape(
      "svg",
      {
        class: "strip",
        viewBox: `0 0 ${steps} 1`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": label,
        onclick,
      },
      runs(shares).map(stretch),
    );
  }

  draw(moment) {
    this.seen = Math.max(this.seen, moment + 1); // as on the curve
    this.list.style.setProperty("--seen", `${(this.seen / this.trace.steps) * 100}%`);
    const { trace, list } = this;
    const what = moment === trace.answer ? "The answer" : `Step ${moment}`;
    this.title.textContent = `${what}, value by value`;
    const items = trace.at(moment).map((feature) => this.rows.get(feature.name).item);
    if (list.firstChild !== items[0]) list.replaceChildren(...items);
    for (const feature of trace.at(moment)) this.update(feature, moment);
  }

  update(feature, moment) {
    const { right, sure, values } = this.rows.get(feature.name);
    const share = this.share(feature, moment);
    right.textContent = share === undefined ? "" : `${percent(share)} right`;
    right.classList.toggle("wrong", share < 1);
    sure.textContent = this.sure(feature, moment);
    const cells =
      feature.location === "edge" ? [this.many(feature, moment)] : this.cells(feature, moment);
    values.replaceChildren(...cells);
  }

  // How much of it is right; undefined where nothing counts.
  share(feature, moment) {
    if (feature.stage === "hint") return this.trace.shares(feature)?.[moment] ?? undefined;
    const wrong = this.trace.wrong("net", feature, moment).size;
    return 1 - wrong / this.trace.values("net", feature, moment).length;
  }

  sure(feature, moment) {
    if (feature.predicted && feature.stage === "hint" && moment === 0) return "given";
    const confidence = this.trace.confidence("net", feature, moment);
    return confidence ? `${percent(mean(confidence) / 100)} sure` : "";
  }

  many(feature, moment) {
    const wrong = this.trace.wrong("net", feature, moment).size;
    const all = `${this.trace.values("algorithm", feature, moment).length} entries`;
    return element(
      "span",
      { class: "many" },
      feature.predicted ? `${all}, ${wrong || "none"} wrong` : all,
    );
  }

  cells(feature, moment) {
    const { trace } = this;
    const truth = trace.values("algorithm", feature, moment);
    const wrong = trace.wrong("net", feature, moment);
    const confidence = trace.confidence("net", feature, moment);
    return trace.values("net", feature, moment).map((value, place) => {
      const doubtful = unsure(confidence?.[place]) !== undefined;
      const shown = element("span", { class: doubtful ? "unsure" : "" }, signOf(trace, feature, value));
      return element(
        "span",
        {
          class: wrong.has(place) ? "value wrong" : "value",
          title: told(trace, "net", feature, moment, place),
        },
        truth.length > 1 ? element("i", {}, trace.data.names[place].slice(0, 5)) : null,
        shown,
        element("small", {}, wrong.has(place) ? signOf(trace, feature, truth[place]) : ""),
      );
    });
  }
}

function signOf(trace, feature, value) {
  if (feature.kind !== "mask" || value < 0) return trace.text(feature, value);
  return value ? "●" : "○";
}

function percent(share) {
  return `${Math.floor(share * 100)} %`;
}

// Steps in a row that have the same share: from the first to behind the last.
function runs(shares) {
  const found = [];
  shares.forEach((share, step) => {
    if (found.length && found.at(-1).share === share) found.at(-1).to = step + 1;
    else found.push({ share, from: step, to: step + 1 });
  });
  return found;
}

function stretch({ share, from, to }) {
  const redness = share === 1 || share === null ? 0 : 0.25 + 0.75 * (1 - share);
  return shape("rect", { x: from, width: to - from + 0.02, height: 1, "fill-opacity": redness });
}
