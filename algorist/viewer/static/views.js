// How both sides are looked at: side by side, one alone, one over the other, or where they differ.

import { element } from "./dom.js";

const VIEWS = {
  both: "Side by side",
  net: "Net",
  algorithm: "Algorithm",
  overlay: "Overlay",
  differences: "Differences",
};
const ABOUT = {
  overlay: "the net's marks, with the right ones below where they differ",
  differences: "only what the net has wrong, with what would be right",
};
const narrow = matchMedia("(max-width: 640px)");
let chosen = "both"; // which stays when another problem comes

export class Views {
  // With the titles of both sides.
  constructor(changed, titles) {
    this.buttons = Object.entries({ ...VIEWS, ...titles }).map(([name, label]) => {
      const onclick = () => {
        chosen = name;
        changed();
      };
      const look = { type: "button", class: name, title: ABOUT[name], onclick };
      return element("button", look, label);
    });
    this.root = element("div", { class: "views", role: "group", "aria-label": "View" }, this.buttons);
  }

  // On a phone there is room for one side.
  get now() {
    return narrow.matches && chosen === "both" ? "net" : chosen;
  }

  show() {
    Object.keys(VIEWS).forEach((name, turn) =>
      this.buttons[turn].setAttribute("aria-pressed", name === this.now),
    );
  }
}
