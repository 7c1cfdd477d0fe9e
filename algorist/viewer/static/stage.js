// The two sides: what the net predicts, and what the algorithm does; beside them, what they mean.

import { BarsPicture, isSeries } from "./bars.js";
import { byId, element } from "./dom.js";
import { GraphPicture } from "./graph.js";
import { Guide } from "./guide.js";
import { areIntervals, IntervalsPicture } from "./intervals.js";
import { Looks } from "./looks.js";
import { MatrixPicture } from "./matrix.js";
import { PointsPicture } from "./points.js";
import { Scene, tagName, unsure } from "./scene.js";
import { bothSentences, ownSentence } from "./sentences.js";
import { StringsPicture } from "./strings.js";
import { counted } from "./trace.js";
import { TreePicture, treeOf } from "./tree.js";
import { Views } from "./views.js";

const TITLES = { net: "Net", algorithm: "Algorithm" };
const MODES = { overlay: "Net over algorithm", differences: "Differences" };
const LEAST_HEIGHT = 250;
const BELOW = 42; // edges, gaps, and some room for a sentence of three lines
let current = null; // the stage that is shown: windows and themes change under it

addEventListener("resize", () => current?.fit());
new MutationObserver(() => current?.redraw()).observe(document.documentElement, {
  attributeFilter: ["data-theme"],
});

export class Stage {
  // With the trace of another net, that stands where the algorithm would.
  constructor(trace, looks, other = null) {
    Object.assign(this, { trace, looks, other, moment: 0 });
    this.titles = other ? namesOfNets(trace, other) : TITLES;
    current = this;
    // Whether the net is right comes in the end, unless the reader wants to know if help has helped.
    document.body.classList.toggle("told", (trace.data.truth ?? []).length > 0);
    this.views = new Views(() => this.fit(), this.titles);
    this.sides = Object.keys(TITLES).map((side) => this.side(side));
    looks.tree = treeOf(this.sides[0].scene);
    this.guide = new Guide(new Scene(trace, looks, "algorithm"));
  }

  get parts() {
    const { root, general } = this.guide;
    const above = element("div", { class: "above" }, this.views.root, general);
    return [above, ...this.sides.map(({ figure }) => figure), root];
  }

  side(side) {
    const beside = side === "algorithm" && this.other;
    const scene = beside
      ? new Scene(beside, looksLike(this.looks, beside), "net")
      : new Scene(this.trace, this.looks, side);
    const pictures = picturesOf(scene).map((Picture) => new Picture(scene));
    const badges = element("span", { class: "badges" });
    const sentence = element("p", { class: "sentence" });
    const title = element("span", { class: "title" }, this.titles[side]);
    const room = element("div", { class: "pictures" }, pictures.map((picture) => picture.svg));
    const figure = element(
      "figure",
      { class: `card side ${side}`, id: beside ? "side-beside" : `side-${side}` },
      element("figcaption", {}, title, badges),
      sentence,
      room,
    );
    return { side, scene, figure, pictures, badges, sentence, title, room };
  }

  // Give the pictures the room that there is, and draw them.
  fit() {
    const root = byId("stage");
    if (!this.guide.root.isConnected) return;
    root.dataset.view = this.views.now;
    this.views.show();
    for (const side of this.sides) {
      side.scene.mode = side.side === "net" && this.views.now in MODES ? this.views.now : "plain";
      side.title.textContent = (side.side === "net" && MODES[this.views.now]) || this.titles[side.side];
    }
    for (const side of this.sides) side.shown = side.figure.checkVisibility();
    const shown = this.sides.filter((side) => side.shown);
    const height = this.height(shown);
    for (const side of shown) resize(side, height);
    this.fitted = true;
    this.redraw();
  }

  // What is left of the window below the beginning of the pictures, above the player.
  height(shown) {
    const top = Math.max(...shown.map(({ room }) => room.getBoundingClientRect().top)) + scrollY;
    const left = innerHeight - top - byId("player").offsetHeight - BELOW;
    return Math.max(left, LEAST_HEIGHT, 0.4 * innerHeight);
  }

  redraw() {
    for (const { scene } of this.sides) scene.forget();
    this.draw(this.moment);
  }

  draw(moment) {
    this.moment = moment;
    if (moment === this.trace.answer) document.body.classList.add("told");
    if (!this.fitted) return this.fit();
    for (const { side, shown, pictures, badges, sentence, scene } of this.sides) {
      if (!shown) continue;
      badges.replaceChildren(...this.badges(scene, moment));
      sentence.replaceChildren(...this.sentence(scene, moment));
      for (const picture of pictures) {
        picture.draw(moment);
        picture.svg.setAttribute("aria-label", this.said(side, moment));
      }
    }
    this.guide.draw(moment, this.views.now in MODES);
  }

  sentence({ trace, side, withTruth, onlyDifferences }, moment) {
    const said = withTruth ? bothSentences(trace, moment) : ownSentence(trace, side, moment);
    const differs = trace.at(moment).some((f) => trace.wrong(side, f, moment).size > 0);
    if (onlyDifferences && !differs) return [...said, ". Nothing differs."];
    return said.length || side === "algorithm" ? said : ["This net only answers."];
  }

  // Values of the whole graph, above the pictures.
  badges(scene, moment) {
    const { trace, side } = scene;
    const inputs = trace.inputs.filter((feature) => feature.location === "graph");
    const given = inputs.map((feature) =>
      badge(feature, trace.text(feature, trace.input(feature.name)[0])),
    );
    const predicted = scene.features(moment, "badge").map((feature) => {
      const [value] = trace.values(side, feature, moment);
      const [truth] = trace.values("algorithm", feature, moment);
      const wrong = trace.wrong(side, feature, moment).size > 0;
      const [text, right] = [value, truth].map((each) => trace.text(feature, each));
      const off = !wrong && text !== right ? "≈" : "";
      const instead = wrong && scene.withTruth ? ` ✓${right}` : "";
      const made = badge(feature, `${off}${text}${wrong ? " ×" : ""}${instead}`, wrong);
      const percent = unsure(trace.confidence(side, feature, moment)?.[0]);
      if (percent !== undefined) made.style.setProperty("--sure", `${percent}%`);
      return made;
    });
    return [...given, ...predicted];
  }

  said(side, moment) {
    const wrong = this.trace
      .at(moment)
      .reduce((sum, f) => sum + this.trace.wrong(side, f, moment).size, 0);
    const isAnswer = moment === this.trace.answer;
    const when = isAnswer ? "the answer" : `step ${moment}`;
    if (side !== "net") return `The algorithm at ${when}`;
    const story = bothSentences(this.trace, moment).map((part) => part.textContent ?? part);
    const more = isAnswer || !story.length ? "" : `. The algorithm ${story.join("")}`;
    return `The net at ${when}: ${counted(wrong, "value")} wrong${more}`;
  }
}

// What is hidden in the pictures of one net is hidden in those of the other.
function looksLike(looks, trace) {
  const like = new Looks(trace);
  Object.assign(like, { visible: looks.visible, tree: looks.tree });
  return like;
}

function namesOfNets(...traces) {
  const [net, algorithm] = traces.map(({ data }) => `Net: ${data.made.net}`);
  return { net, algorithm };
}

function badge(feature, text, wrong = false) {
  return element(
    "span",
    { class: `badge ${wrong ? "wrong" : ""}`, title: feature.meaning },
    element("b", {}, tagName(feature)),
    ` ${text}`,
  );
}

// Each picture as high as it likes, unless all together are higher than there is room for. The first
// has what the others leave, which cannot be smaller than they can be read.
function resize({ pictures, room }, height) {
  const width = Math.floor(room.clientWidth);
  const [first, ...others] = pictures.map((picture) => picture.wanted(width));
  const most = (pictures[0] instanceof MatrixPicture ? 0.4 : 0.75) * first;
  const wanted = [first, ...others.map((each) => Math.min(each, most))];
  const free = height - others.length * parseFloat(getComputedStyle(room).rowGap);
  const scale = Math.min(1, free / sum(wanted));
  const heights = pictures.map(({ least }, turn) => Math.max(least, Math.floor(wanted[turn] * scale)));
  const over = Math.max(0, Math.ceil(sum(heights) - free));
  heights[0] = Math.max(pictures[0].least, heights[0] - over);
  pictures.forEach((picture, turn) => picture.resize(width, heights[turn]));
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}

// What is drawn follows from the inputs; matrices come first where entries are predicted.
export function picturesOf(scene) {
  const first = pictureOf(scene.trace);
  if (treeOf(scene)) return [first, TreePicture];
  if (!scene.looks.hasMatrix) return [first];
  if (first === StringsPicture) return [MatrixPicture]; // which has the letters at its margins
  return [MatrixPicture, first];
}

function pictureOf(trace) {
  if (trace.has("A")) return GraphPicture;
  if (trace.has("x") && trace.has("y")) return PointsPicture;
  if (trace.has("string") && trace.has("key")) return StringsPicture;
  if (areIntervals(trace)) return IntervalsPicture;
  return trace.inputs.some(isSeries) ? BarsPicture : GraphPicture;
}
