// The start page: all algorithms, each with a small moving picture and its score.

import { ask } from "./asking.js";
import { byId, element } from "./dom.js";
import { Looks } from "./looks.js";
import { Scene } from "./scene.js";
import { picturesOf } from "./stage.js";
import { Trace } from "./trace.js";

const BEAT_OF_PREVIEWS = 550;
const PREVIEW_WIDTH = 440;
const PREVIEW_HEIGHT = 250;

export class Gallery {
  constructor(problem) {
    this.problem = problem;
    this.cards = new Map();
    this.inView = new Set();
    this.watcher = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen)
        this.inView[isIntersecting ? "add" : "delete"](target.dataset.name);
    });
  }

  show() {
    document.title = "algorist";
    byId("gallery").hidden = false;
    byId("frame").hidden = true;
    document.body.classList.add("ready", "at-gallery");
    byId("model").textContent = "";
    if (!this.cards.size) this.fill();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!still) this.timer ??= setInterval(() => this.beat(), BEAT_OF_PREVIEWS);
  }

  hide() {
    clearInterval(this.timer);
    this.timer = null;
    byId("gallery").hidden = true;
    byId("frame").hidden = false;
    document.body.classList.remove("at-gallery");
  }

  fill() {
    const { algorithms, model } = this.problem.found;
    byId("gallery").replaceChildren(
      element(
        "header",
        { class: "welcome" },
        element("h1", {}, "Watch a net execute algorithms"),
        element("p", {}, welcome(algorithms.length, model)),
      ),
      element(
        "div",
        { class: "cards" },
        algorithms.toSorted(byFamily).map((algorithm) => this.card(algorithm)),
      ),
    );
    this.animate();
  }

  card({ name, family, description }) {
    const picture = element("div", { class: "preview", "aria-hidden": "true" });
    const { nets } = this.problem;
    const card = element(
      "a",
      { class: "card preview-card", href: `#${name}`, "data-name": name },
      picture,
      element("span", { class: "family" }, family.replaceAll("_", " ")),
      element("b", {}, name.replaceAll("_", " ")),
      element("span", { class: "description" }, description.replace(/ \(CLRS[^)]*\)/, "")),
      scoreBar(nets.score(nets.default, name)),
    );
    this.cards.set(name, { card, picture });
    this.watcher.observe(card);
    return card;
  }

  // Pictures come after the cards, which can be followed without them.
  async animate() {
    let found = {};
    try {
      found = await ask("api/previews");
    } catch {
      return; // the cards say all that is needed
    }
    for (const [name, { picture }] of this.cards) {
      if (!found[name]) continue;
      const trace = new Trace(found[name]);
      const scene = new Scene(trace, new Looks(trace), "algorithm");
      const [Picture] = picturesOf(scene);
      const drawn = new Picture(scene);
      drawn.resize(PREVIEW_WIDTH, PREVIEW_HEIGHT);
      for (const side of ["width", "height"]) drawn.svg.removeAttribute(side); // as large as its card
      const moment = Math.floor(trace.steps / 2);
      drawn.draw(moment);
      picture.replaceChildren(drawn.svg);
      Object.assign(this.cards.get(name), { drawn, trace, moment });
    }
  }

  // One step further, in the pictures that can be seen.
  beat() {
    for (const name of this.inView) {
      const card = this.cards.get(name);
      if (!card.drawn) continue;
      card.moment = (card.moment + 1) % (card.trace.answer + 2); // the answer stays for two beats
      if (card.moment <= card.trace.answer) card.drawn.draw(card.moment);
    }
  }
}

const FAMILIES = ["sorting", "graphs", "searching", "strings", "geometry"]; // the others follow

function byFamily(one, other) {
  const [a, b] = [one, other].map(({ family }) => (FAMILIES.indexOf(family) + 9) % 9);
  return a - b || one.family.localeCompare(other.family);
}

function welcome(count, model) {
  return (
    `A neural network learned these ${count} algorithms from examples of their steps. Choose one and ` +
    `see, step by step, where the net (${model}) follows the algorithm and where it goes wrong. ` +
    "The bars are its scores in the official tests, on problems with 64 nodes."
  );
}

function scoreBar(score) {
  if (score === null) return element("span", { class: "score-bar none" }, "no score known");
  const filled = element("i", {});
  filled.style.width = `${score}%`;
  return element(
    "span",
    { class: "score-bar" },
    element("span", { class: "bar-of-score", "aria-hidden": "true" }, filled),
    element("span", {}, `${score.toFixed(1)} %`),
  );
}
