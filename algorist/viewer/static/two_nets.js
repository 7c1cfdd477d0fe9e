// Two nets side by side, at the same problem: what Stage is for one net and the algorithm.

import { Looks } from "./looks.js";
import { Stage } from "./stage.js";

export class TwoNets {
  constructor(trace, other, looks) {
    this.first = new Stage(trace, looks);
    const otherLooks = new Looks(other);
    otherLooks.visible = looks.visible; // what is hidden is hidden on both sides
    this.second = new Stage(other, otherLooks);
    this.figures = [
      netSide(this.first, trace.data.made.net),
      netSide(this.second, other.data.made.net),
    ];
    this.figures[1].id = "side-beside";
  }

  get parts() {
    return this.figures;
  }

  draw(moment) {
    this.first.draw(moment);
    this.second.draw(moment);
  }

  said(side, moment) {
    return this.first.said(side, moment);
  }
}

function netSide(stage, name) {
  const { figure } = stage.sides.find(({ side }) => side === "net");
  figure.querySelector(".title").textContent = `Net: ${name}`;
  return figure;
}
