// The stage as one SVG that needs no style sheet: what is on the page, where it is, as it looks.

import { byId, shape } from "./dom.js";

const MARGIN = 16;
const LOOKS_OF_SHAPES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "stroke-linejoin", "opacity", "font-size", "font-weight", "text-anchor",
  "dominant-baseline", "paint-order", "text-decoration-line",
]; // prettier-ignore
const INHERITED = new Set(LOOKS_OF_SHAPES.filter((name) => name !== "opacity"));
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

// With a heading above the pictures and a line below them.
export function captured(heading, footer) {
  const stage = byId("stage");
  const box = stage.getBoundingClientRect();
  const [width, height] = [box.width + 2 * MARGIN, box.height + 2 * MARGIN + 44];
  const ink = { fill: plainColour(getComputedStyle(document.body).color) };
  const paper = plainColour(getComputedStyle(document.body).backgroundColor);
  const drawn = shape(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width: Math.ceil(width),
      height: Math.ceil(height),
      viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
      "font-family": FONT,
    },
    shape("rect", { width: "100%", height: "100%", fill: paper }),
    shape("text", { ...ink, x: MARGIN, y: 25, "font-size": 15, "font-weight": 600 }, heading),
    shape("text", { ...ink, x: MARGIN, y: height - 12, "font-size": 11.5 }, footer),
  );
  const offset = { x: MARGIN - box.x, y: MARGIN + 22 - box.y };
  for (const child of stage.children) drawn.append(...partsOfElement(child, offset));
  return drawn;
}

// An element of the page as shapes: its box if it has a colour, its texts, and the pictures in it.
function partsOfElement(made, offset) {
  if (!made.checkVisibility() || made.matches("button, .views")) return []; // nothing to press
  if (made instanceof SVGSVGElement) return [pictureOfPage(made, offset)];
  const style = getComputedStyle(made);
  const parts = boxOf(made, style, offset);
  for (const child of made.childNodes) {
    if (child instanceof Element) parts.push(...partsOfElement(child, offset));
    else if (child.nodeType === Node.TEXT_NODE) parts.push(...textsOf(child, style, offset));
  }
  return parts;
}

function boxOf(made, style, offset) {
  const border = parseFloat(style.borderTopWidth);
  const filled = !isClear(style.backgroundColor);
  const { x, y, width, height } = made.getBoundingClientRect();
  if ((!border && !filled) || !width || !height) return [];
  return [
    shape("rect", {
      x: x + offset.x,
      y: y + offset.y,
      width,
      height,
      rx: parseFloat(style.borderTopLeftRadius) || 0,
      fill: filled ? plainColour(style.backgroundColor) : "none",
      ...(border && { stroke: plainColour(style.borderTopColor), "stroke-width": border }),
      ...(style.borderTopStyle === "dashed" && { "stroke-dasharray": "4 3" }),
    }),
  ];
}

// A line of text for each line that it has on the page.
function textsOf(node, style, offset) {
  const lines = [];
  const range = document.createRange();
  const words = node.data.matchAll(/\S+\s*/g);
  for (const { 0: word, index } of words) {
    range.setStart(node, index);
    range.setEnd(node, index + word.trimEnd().length);
    const { x, y, height } = range.getBoundingClientRect();
    if (!height) continue;
    if (lines.length && Math.abs(lines.at(-1).y - y) < 2) lines.at(-1).text += word;
    else lines.push({ x, y, height, text: word });
  }
  const size = parseFloat(style.fontSize);
  return lines.map(({ x, y, height, text }) =>
    shape(
      "text",
      {
        x: x + offset.x,
        y: y + offset.y + height / 2 + size * 0.35,
        "font-size": size,
        "font-weight": style.fontWeight,
        fill: plainColour(style.color),
        ...(style.fontFamily.includes("mono") && { "font-family": "monospace" }),
      },
      text.trimEnd(),
    ),
  );
}

// A picture at its place on the page, with the looks that the style sheet gives its shapes.
function pictureOfPage(svg, offset) {
  const { x, y, width, height } = svg.getBoundingClientRect();
  const copy = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  const unseen = [];
  copy.querySelectorAll("*").forEach((each, index) => {
    const original = originals[index];
    const style = getComputedStyle(original);
    if (style.display === "none" || style.visibility === "hidden") unseen.push(each);
    const above = original.parentNode === svg ? null : getComputedStyle(original.parentNode);
    for (const name of LOOKS_OF_SHAPES) giveLook(each, name, style, above);
    const moved = original.style.transform.match(/translate\(([-\d.]+)px(?:, ([-\d.]+)px)?\)/);
    if (moved) each.setAttribute("transform", `translate(${moved[1]}, ${moved[2] ?? 0})`);
    for (const name of ["class", "style", "tabindex", "role"]) each.removeAttribute(name);
  });
  for (const each of unseen) each.remove();
  for (const name of ["class", "style", "role", "aria-label"]) copy.removeAttribute(name);
  for (const [name, value] of Object.entries({ width, height })) copy.setAttribute(name, value);
  copy.setAttribute("x", x + offset.x);
  copy.setAttribute("y", y + offset.y);
  return copy;
}

function giveLook(each, name, style, above) {
  let value = style.getPropertyValue(name);
  if (INHERITED.has(name) && above?.getPropertyValue(name) === value) {
    return each.removeAttribute(name);
  }
  if (name === "fill" || name === "stroke") value = plainColour(value);
  if (name === "text-decoration-line" && value === "none") return;
  each.setAttribute(name.replace("-line", ""), value.replace(/(\d)px/g, "$1"));
}

function isClear(colour) {
  return /^rgba\(.*, 0\)$|\/ 0\)$/.test(colour) || colour === "transparent";
}

// Colours as all programs understand them: browsers mix some as color(srgb 0.1 0.2 0.3 / 0.5).
function plainColour(colour) {
  const mixed = colour.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)$/);
  if (!mixed) return colour;
  const [red, green, blue] = mixed.slice(1, 4).map((share) => Math.round(share * 255));
  return mixed[4] ? `rgba(${red}, ${green}, ${blue}, ${mixed[4]})` : `rgb(${red}, ${green}, ${blue})`;
}

export function svgText(svg) {
  return new XMLSerializer().serializeToString(svg);
}

// An SVG drawn on a canvas, so many times as large; the canvas may have a size of its own.
export async function rastered(svg, scale, size = null) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const [width, height] = ["width", "height"].map((name) =>
    Math.round(svg.getAttribute(name) * scale),
  );
  const canvas = document.createElement("canvas");
  Object.assign(canvas, size ?? { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = svg.querySelector("rect").getAttribute("fill");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, width, height);
  return { canvas, context };
}
