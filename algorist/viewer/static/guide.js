// What the pictures tell: the pseudocode with the line at hand, and what each mark means here.

import { element } from "./dom.js";
import { generalMarks, legendOf } from "./swatches.js";

export class Guide {
  constructor(scene) {
    this.scene = scene;
    const { pseudocode } = scene.trace.data.explanation;
    this.lines = pseudocode.map((line) => {
      const text = line.trimStart();
      const item = element("li", {}, text);
      item.style.setProperty("--indent", (line.length - text.length) / 4);
      return item;
    });
    this.code = element("ol", { class: "pseudocode", "aria-label": "Pseudocode" }, this.lines);
    this.code.hidden = !pseudocode.length;
    this.legend = element("ul", { class: "marks", "aria-label": "What the marks mean" });
    this.root = element("aside", { class: "card guide" }, this.code, this.legend);
    this.general = element("ul", { class: "marks general", "aria-label": "Right and wrong" });
  }

  // With the truth, pictures have marks for what would be right.
  draw(moment, withTruth) {
    const lit = new Set(this.scene.trace.lines(moment));
    this.lines.forEach((line, turn) => {
      const now = lit.has(turn + 1);
      line.classList.toggle("lit", now);
      if (now) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
    const { looks, trace } = this.scene;
    const kind = `${moment < trace.steps} ${looks.twoLines} ${[...looks.visible]} ${withTruth}`;
    if (kind === this.kind) return; // the marks of all steps are the same
    this.kind = kind;
    this.legend.replaceChildren(...legendOf(this.scene, moment));
    this.general.replaceChildren(...generalMarks(trace, withTruth));
  }
}
