// The two sides: what the net predicts, and what the algorithm does.

import { BarsPicture, isSeries } from "./bars.js";
import { element } from "./dom.js";
import { GraphPicture } from "./graph.js";
import { solidity } from "./marks.js";
import { MatrixPicture } from "./matrix.js";
import { PointsPicture } from "./points.js";
import { StringsPicture } from "./strings.js";
import { counted } from "./trace.js";

const TITLES = { net: "Net", algorithm: "Algorithm" };

export class Stage {
  constructor(trace, looks) {
    Object.assign(this, { trace, looks });
    this.sides = Object.keys(TITLES).map((side) => this.side(side));
  }

  get parts() {
    return this.sides.map(({ figure }) => figure);
  }

  side(side) {
    const { trace, looks } = this;
    const pictures = picturesOf(trace, looks).map(
      (Picture) => new Picture(trace, looks, side, { small: looks.hasMatrix }),
    );
    const badges = element("span", { class: "badges" });
    const figure = element(
      "figure",
      { class: `card side ${side}`, id: `side-${side}` },
      element("figcaption", {}, element("span", { class: "title" }, TITLES[side]), badges),
      pictures.map((picture) => picture.svg),
    );
    return { side, figure, pictures, badges };
  }

  draw(moment) {
    for (const { side, pictures, badges } of this.sides) {
      badges.replaceChildren(...this.badges(side, moment));
      for (const picture of pictures) {
        picture.draw(moment);
        picture.svg.setAttribute("aria-label", this.said(side, moment));
      }
    }
  }

  // Values of the whole graph, above the pictures.
  badges(side, moment) {
    const { trace, looks } = this;
    const inputs = trace.inputs.filter((feature) => feature.location === "graph");
    const given = inputs.map((feature) =>
      badge(feature.name, trace.text(feature, trace.input(feature.name)[0])),
    );
    const predicted = looks.drawn(moment, "badge", side).map((feature) => {
      const [value] = trace.values(side, feature, moment);
      const wrong = trace.wrong(side, feature, moment).size > 0;
      const made = badge(feature.name, trace.text(feature, value), wrong);
      made.style.opacity = Math.max(0.45, solidity(trace.confidence(side, feature, moment)?.[0]));
      return made;
    });
    return [...given, ...predicted];
  }

  said(side, moment) {
    const wrong = this.trace
      .at(moment)
      .reduce((sum, f) => sum + this.trace.wrong(side, f, moment).size, 0);
    const when = moment === this.trace.answer ? "the answer" : `step ${moment}`;
    return side === "net"
      ? `The net at ${when}: ${counted(wrong, "value")} wrong`
      : `The algorithm at ${when}`;
  }
}

function badge(name, text, wrong = false) {
  return element(
    "span",
    { class: `badge ${wrong ? "wrong" : ""}` },
    element("b", {}, name),
    ` ${text}${wrong ? " ×" : ""}`,
  );
}

// What is drawn follows from the inputs; matrices come first where entries are predicted.
function picturesOf(trace, looks) {
  const first = pictureOf(trace);
  if (!looks.hasMatrix) return [first];
  if (first === StringsPicture) return [MatrixPicture]; // which has the letters at its margins
  return [MatrixPicture, first];
}

function pictureOf(trace) {
  if (trace.has("A")) return GraphPicture;
  if (trace.has("x") && trace.has("y")) return PointsPicture;
  if (trace.has("string") && trace.has("key")) return StringsPicture;
  return trace.inputs.some(isSeries) ? BarsPicture : GraphPicture;
}
