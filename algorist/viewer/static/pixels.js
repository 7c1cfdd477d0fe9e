// A table too fine for text: an image with a pixel for each cell, which is quick to draw.

import { shape } from "./dom.js";

const COLOURS_OF_CELLS = ["wrong", "faint", "blue", "card"];

export class PixelGrid {
  constructor({ x, y }, size, rows, columns) {
    Object.assign(this, { rows, columns });
    this.canvas = document.createElement("canvas");
    this.canvas.width = columns.length;
    this.canvas.height = rows.length;
    this.image = shape("image", {
      class: "pixels",
      x,
      y,
      width: size * columns.length,
      height: size * rows.length,
      preserveAspectRatio: "none",
    });
  }

  // `colour(row, column)` says which colour a cell has, and how much of it.
  draw(colour, svg) {
    const context = this.canvas.getContext("2d");
    const pixels = context.createImageData(this.canvas.width, this.canvas.height);
    const palette = paletteOf(svg);
    let next = 0;
    for (const row of this.rows) {
      for (const column of this.columns) {
        const [name, share] = colour(row, column);
        for (let channel = 0; channel < 3; channel++) {
          const ground = palette.card[channel];
          pixels.data[next + channel] = ground + (palette[name][channel] - ground) * share;
        }
        pixels.data[next + 3] = 255;
        next += 4;
      }
    }
    context.putImageData(pixels, 0, 0);
    this.image.setAttribute("href", this.canvas.toDataURL());
  }
}

// The colours of the page as numbers, for the theme that it has.
const palettes = new Map();
function paletteOf(svg) {
  const { theme } = document.documentElement.dataset;
  if (!palettes.has(theme)) {
    const probe = shape("g", {});
    svg.append(probe);
    const numbers = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    };
    palettes.set(theme, Object.fromEntries(COLOURS_OF_CELLS.map((name) => [name, numbers(name)])));
    probe.remove();
  }
  return palettes.get(theme);
}
