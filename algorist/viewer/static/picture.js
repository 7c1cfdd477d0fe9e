// A picture is drawn in pixels and never scaled, so that its text keeps its size.

import { shape } from "./dom.js";

// Whoever extends it has `lay()`, which is called when the size has changed, `draw(moment)`, and
// `wanted(width)`: the height that it would like to have.
export class Picture {
  constructor(scene, kind) {
    this.scene = scene;
    this.trace = scene.trace;
    this.svg = shape("svg", { class: `picture ${kind}`, role: "img" });
  }

  // The height below which nothing can be seen.
  get least() {
    return 90;
  }

  resize(width, height) {
    if (width === this.width && height === this.height) return;
    Object.assign(this, { width, height });
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.lay();
  }
}
