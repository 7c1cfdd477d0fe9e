// Give the net the truth at the step that is shown, and see whether it recovers.

import { element } from "./dom.js";

export class Truth {
  // `ask` is called with the steps at which the net shall be given the true hints.
  constructor(ask) {
    this.ask = ask;
    this.give = element(
      "button",
      { type: "button", class: "try", onclick: () => this.ask([...this.steps, this.moment]) },
      "Give it the truth at this step",
    );
    this.text = element("span", {});
    this.undo = element(
      "button",
      { type: "button", class: "quiet", onclick: () => this.ask([]) },
      "Take it back",
    );
    this.root = element("p", { class: "truth" }, this.text, this.undo);
  }

  load(trace) {
    const { truth = [], shares } = trace.data;
    this.trace = trace;
    this.steps = truth;
    this.root.hidden = !truth.length;
    this.text.textContent = truth.length ? recovery(shares, truth) : "";
  }

  // The first step is given anyhow, and after the last there is nothing left to predict.
  draw(moment) {
    this.moment = moment;
    const last = this.trace.steps - 1;
    const possible = moment > 0 && moment < last && !this.steps.includes(moment);
    this.give.hidden = !possible || this.trace.silent;
  }
}

function recovery(shares, truth) {
  const at = truth.at(-1);
  const after = shares.findIndex((share, step) => step > at && share !== null && share < 1);
  const given = `Given the truth at step ${truth.join(", ")}`;
  if (after < 0) return `${given}: no mistake after it.`;
  return `${given}: the next mistake is at step ${after}.`;
}
