// The curve of how many hints are right over time, on which one moves to and fro.

import { element, shape } from "./dom.js";
import { at } from "./marks.js";
import { mean } from "./trace.js";

export class Timeline {
  constructor(seek) {
    this.seek = seek;
    this.head = element("div", { class: "head" });
    this.flag = element("div", { class: "flag" });
    this.svg = shape("svg", {
      viewBox: "0 0 1000 100",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    this.otherName = element("span", { class: "green", hidden: true });
    const names = [
      element("span", { class: "blue" }, "hints right"),
      this.otherName,
      element("span", { class: "purple" }, "confidence"),
    ];
    this.track = element(
      "div",
      { class: "track", role: "slider", tabindex: 0, "aria-label": "Step", "aria-valuemin": 0 },
      this.svg,
      this.flag,
      this.head,
      element("p", { class: "curves", "aria-hidden": "true" }, names),
    );
    this.root = element(
      "div",
      { class: "timeline" },
      element(
        "div",
        { class: "scale", "aria-hidden": "true" },
        element("span", {}, "100 %"),
        element("span", {}, "0"),
      ),
      this.track,
    );
    this.track.addEventListener("pointerdown", (event) => this.drag(event));
    this.track.addEventListener("pointermove", (event) => event.buttons && this.drag(event));
  }

  drag(event) {
    if (event.type === "pointerdown") this.track.setPointerCapture(event.pointerId);
    const box = this.track.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    this.seek(Math.round(Math.min(1, Math.max(0, share)) * this.trace.answer));
  }

  // The curves of a net, a thinner one of another trace that has a name, and a mark where the net was
  // given the truth.
  show(trace, other = null) {
    this.trace = trace;
    this.seen = 0;
    this.track.setAttribute("aria-valuemax", trace.answer);
    const right = this.line(rightness(trace));
    const end = (this.across(trace.steps - 1) * 1000).toFixed(1);
    this.svg.replaceChildren(
      ...[4, 50, 96].map((y) => shape("line", { class: "grid", x1: 0, x2: 1000, y1: y, y2: y })),
      ...(right
        ? [
            shape("path", { class: "area", d: `M0,100 L${right} L${end},100 Z` }),
            shape("path", { class: "curve sure", d: `M${this.line(confidences(trace))}` }),
            ...(other
              ? [shape("path", { class: "curve other", d: `M${this.line(rightness(other.trace))}` })]
              : []),
            shape("path", { class: "curve", d: `M${right}` }),
          ]
        : []),
      ...(trace.data.truth ?? []).map((step) => this.given(step)),
    );
    this.otherName.textContent = other?.name ?? "";
    this.otherName.hidden = !other;
    const mistake = trace.data.mistake;
    this.flag.hidden = !mistake;
    if (mistake) this.flag.style.left = `${this.across(mistake.step) * 100}%`;
  }

  given(step) {
    const x = (this.across(step) * 1000).toFixed(1);
    return shape("line", { class: "given", x1: x, x2: x, y1: 0, y2: 100 });
  }

  // A share for each step, as points of the curve.
  line(shares) {
    const point = (share, step) => at({ x: this.across(step) * 1000, y: 96 - 92 * share });
    return shares.map(point).join(" L");
  }

  across(moment) {
    return this.trace.answer ? moment / this.trace.answer : 0;
  }

  // Until the verdict is told, the curve goes no further than the reader has come.
  set(moment, text) {
    this.seen = Math.max(this.seen, moment);
    this.track.style.setProperty("--seen", `${this.across(this.seen) * 100}%`);
    const { mistake } = this.trace.data;
    this.flag.classList.toggle("ahead", Boolean(mistake) && mistake.step > this.seen);
    this.head.style.left = `${this.across(moment) * 100}%`;
    this.track.setAttribute("aria-valuenow", moment);
    this.track.setAttribute("aria-valuetext", text);
  }
}

// The share of hints that are right at each step.
function rightness({ data }) {
  return data.shares.map((share) => share ?? 1);
}

// How sure the net is at each step: the mean over the hints of which it says that.
function confidences(trace) {
  return Array.from({ length: trace.steps }, (_, step) => {
    const said = trace.hints.map((hint) => trace.confidence("net", hint, step)).filter(Boolean);
    return said.length ? mean(said.map(mean)) / 100 : 1;
  });
}
