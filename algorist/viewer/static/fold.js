// The problem can be folded away, so that the pictures have its room.

import { element } from "./dom.js";

export function foldable(header) {
  const button = element("button", { type: "button", class: "quiet fold", "aria-controls": "problem" });
  const narrow = matchMedia("(max-width: 640px)").matches;
  const show = (folded) => {
    document.body.classList.toggle("folded", folded);
    const label = folded ? "Show the problem" : "Hide the problem";
    button.setAttribute("aria-expanded", !folded);
    button.setAttribute("aria-label", label);
    button.title = label;
    button.textContent = narrow ? `Problem ${folded ? "▾" : "▴"}` : folded ? "»" : "«";
    dispatchEvent(new Event("resize"));
  };
  button.addEventListener("click", () => show(!document.body.classList.contains("folded")));
  show(narrow); // on a phone, pictures come first
  header.prepend(button);
}
