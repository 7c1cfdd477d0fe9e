// Predict first: before a step is shown, the reader says what the algorithm will do.

import { byId, element } from "./dom.js";
import { tagName } from "./scene.js";
import { isPointer } from "./trace.js";

export class Predict {
  constructor(player) {
    this.player = player;
    this.box = element("input", { type: "checkbox", id: "predict" });
    this.question = element("p", { class: "question", "aria-live": "polite" });
    this.choices = element("div", { class: "choices" });
    this.score = element("span", { class: "score" });
    this.box.addEventListener("change", () => this.reset());
    this.switch = element("label", { class: "try" }, this.box, "Predict first", this.score);
    this.root = element("div", { class: "predict" }, this.question, this.choices);
    player.beforeNext = (moment) => this.asks(moment);
    byId("stage").addEventListener("click", (event) => this.clicked(event));
  }

  load(trace) {
    this.trace = trace;
    this.reset();
  }

  reset() {
    Object.assign(this, { asked: null, right: 0, all: 0 });
    this.score.textContent = "";
    this.show("", []);
  }

  show(text, names) {
    this.question.textContent = text;
    this.choices.replaceChildren(
      ...names.map((name, node) =>
        element("button", { type: "button", onclick: () => this.answer(node) }, name),
      ),
    );
    document.body.classList.toggle("predicting", names.length > 0);
  }

  // Whether there is a question about the step after a moment, which is not to be shown yet.
  asks(moment) {
    if (!this.box.checked || moment >= this.trace.steps - 1) return false;
    this.asked = questionAbout(this.trace, moment);
    if (!this.asked) return false;
    this.show(this.asked.text, this.trace.data.names);
    return true;
  }

  clicked({ target }) {
    if (!this.asked) return;
    const mark = target.closest(".node, .bar, .cell");
    const picture = target.closest("svg.picture:not(.tree)");
    if (!mark || !picture) return;
    const kind = [...mark.classList].find((name) => ["node", "bar", "cell"].includes(name));
    this.answer([...picture.querySelectorAll(`.${kind}`)].indexOf(mark));
  }

  answer(node) {
    const { nodes, moment, feature } = this.asked;
    const { names } = this.trace.data;
    const isRight = nodes.has(node);
    this.all += 1;
    this.right += isRight;
    this.score.textContent = `${this.right} of ${this.all} right`;
    const truth = [...nodes].map((each) => names[each]).join(" or ");
    const wrong = this.trace.wrong("net", feature, moment + 1).size > 0;
    const net = wrong ? "The net has it wrong." : "The net has it right.";
    this.asked = null;
    this.show(isRight ? `Yes, ${names[node]}. ${net}` : `No: ${truth}. ${net}`, []);
    this.player.go(moment + 1);
  }
}

// What to ask about the step after a moment: which node a hint moves to, or what a pointer or a mask
// that changes is about. Null where nothing changes that a node would answer.
function questionAbout(trace, moment) {
  const hints = trace.hints.filter(({ location, predicted }) => location === "node" && predicted);
  for (const ask of [whichNode, whichPointer, whichMask]) {
    for (const feature of hints) {
      const [now, then] = [moment, moment + 1].map((each) =>
        trace.values("algorithm", feature, each),
      );
      const found = ask(trace, feature, now, then);
      if (found) return { ...found, feature, moment };
    }
  }
  return null;
}

function whichNode(trace, feature, [now], [then]) {
  if (feature.kind !== "mask_one" || now === then || then < 0) return null;
  const text = `Next step: which node will be ${hintName(feature)}?`;
  return { text, nodes: new Set([then]) };
}

function whichPointer(trace, feature, now, then) {
  if (!isPointer(feature)) return null;
  const from = changedNodes(now, then).find((node) => then[node] >= 0);
  if (from === undefined) return null;
  const text = `Next step: where will ${trace.data.names[from]} point? (${meaningOf(feature)})`;
  return { text, nodes: new Set([then[from]]) };
}

function whichMask(trace, feature, now, then) {
  const nodes = feature.kind === "scalar" ? [] : changedNodes(now, then);
  if (!nodes.length || isPointer(feature) || feature.kind === "mask_one") return null;
  return { text: `Next step: which node will change? (${meaningOf(feature)})`, nodes: new Set(nodes) };
}

function changedNodes(now, then) {
  return then.flatMap((value, node) => (value === now[node] ? [] : [node]));
}

function hintName(feature) {
  const meaning = meaningOf(feature);
  return meaning === feature.name ? meaning : `${tagName(feature)}, ${meaning}`;
}

function meaningOf({ name, meaning }) {
  return meaning ? meaning.split(/[;:]/)[0] : name;
}
