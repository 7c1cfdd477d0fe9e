// What is said instead of the pictures while a trace is computed, and how to cancel it.

import { byId, element } from "./dom.js";
import { counted } from "./trace.js";

const SOON = 300; // milliseconds in which nobody minds the old pictures, if they are of the algorithm

export class Waiting {
  constructor(cancel) {
    this.text = element("p", {});
    this.bar = element("progress", { "aria-label": "Progress" });
    this.button = element("button", { type: "button", onclick: cancel }, "Cancel (Esc)");
    this.parts = [this.text, this.bar, this.button];
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.timer) cancel();
    });
  }

  // Wait for an algorithm; the pictures of another are hidden at once.
  begin(algorithm, shown) {
    this.end();
    this.bar.removeAttribute("value");
    this.bar.hidden = this.button.hidden = false;
    this.text.textContent = `${algorithm}: the net is computing …`;
    this.algorithm = algorithm;
    this.timer = setTimeout(() => this.veil(true), shown === algorithm ? SOON : 0);
    if (shown !== algorithm) this.veil(true);
    byId("main").setAttribute("aria-busy", "true");
    document.body.classList.add("busy");
  }

  told({ step, steps, waiting }) {
    if (waiting) this.text.textContent = "Waiting for another computation to end …";
    if (steps === undefined) return;
    this.text.textContent = `${this.algorithm}: step ${step} of ${counted(steps, "step")} …`;
    this.bar.max = Math.max(steps, 1);
    this.bar.value = step;
  }

  // With a text, that is said where pictures would be.
  end(text = "") {
    clearTimeout(this.timer);
    this.timer = null;
    this.veil(text !== "");
    this.text.textContent = text;
    this.bar.hidden = this.button.hidden = true;
    byId("main").setAttribute("aria-busy", "false");
    document.body.classList.remove("busy");
  }

  veil(on) {
    document.body.classList.toggle("waiting", on);
  }
}
