// Play, pause, step and scrub, by mouse, touch and keyboard.

import { element, shape } from "./dom.js";
import { Timeline } from "./timeline.js";

const ICONS = {
  first: "M5 4h2.4v16H5zM20 4v16L8.6 12z",
  back: "M17 4v16L6 12z",
  play: "M7 4v16l13-8z",
  pause: "M6 4h4.2v16H6zM13.8 4H18v16h-4.2z",
  next: "M7 4v16l11-8z",
  last: "M16.6 4H19v16h-2.4zM4 4v16l11.4-8z",
};
const SPEEDS = { "½×": 0.5, "1×": 1, "2×": 2, "4×": 4, "8×": 8, "20×": 20 };
const BEAT = 800;
const LEAP = 10;

export class Player {
  constructor(show, started) {
    Object.assign(this, { show, started });
    this.moment = 0;
    this.timer = null;
    this.timeline = new Timeline((moment) => this.go(moment));
    this.button = icon("play", "Play (space)", () => this.toggle());
    this.button.classList.add("main");
    this.label = element("output", { class: "step" });
    this.speed = element(
      "select",
      { "aria-label": "Speed", id: "speed" },
      Object.keys(SPEEDS).map((name) => element("option", { selected: name === "1×" }, name)),
    );
    this.speed.addEventListener("change", () => this.timer && this.wind());
    this.tries = element("span", { class: "tries" }); // what else readers can do at a step
    const controls = element(
      "div",
      { class: "controls" },
      icon("first", "First step (Home)", () => this.go(0)),
      icon("back", "Step back (←)", () => this.go(this.moment - 1)),
      this.button,
      icon("next", "Step forward (→)", () => this.next()),
      icon("last", "Answer (End)", () => this.go(Infinity)),
      this.speed,
      this.tries,
      this.label,
    );
    this.parts = [this.timeline.root, controls];
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // With another trace of the same problem, and its name, to be compared with.
  load(trace, other = null) {
    this.pause();
    this.trace = trace;
    this.timeline.show(trace, other);
    this.go(0, { keepPlaying: true });
  }

  // The next step, unless somebody wants to say something before it is shown.
  next() {
    if (this.beforeNext?.(this.moment)) return this.pause();
    this.go(this.moment + 1);
  }

  go(moment, { keepPlaying = false } = {}) {
    if (!this.trace) return;
    if (!keepPlaying) this.pause();
    this.moment = Math.min(Math.max(moment, 0), this.trace.answer);
    const text =
      this.moment === this.trace.answer
        ? "answer"
        : `step ${this.moment} / ${this.trace.steps - 1}`;
    this.label.textContent = text;
    this.timeline.set(this.moment, text);
    this.show(this.moment);
  }

  toggle() {
    if (this.timer) return this.go(this.moment); // which pauses, and tells where
    if (!this.trace) return;
    if (this.moment === this.trace.answer) this.go(0);
    this.started();
    this.look("pause", "Pause (space)");
    this.wind();
    this.beat();
  }

  // Steps follow the clock from now on, however long each takes to draw.
  wind() {
    this.clock = { from: this.moment, at: performance.now() };
  }

  beat() {
    this.timer = requestAnimationFrame(() => {
      const { from, at } = this.clock;
      const passed = ((performance.now() - at) * SPEEDS[this.speed.value]) / BEAT;
      const due = Math.min(from + Math.floor(passed), this.trace.answer);
      const more = due < this.trace.answer;
      if (due > this.moment) this.go(due, { keepPlaying: more });
      if (more) this.beat();
    });
  }

  pause() {
    cancelAnimationFrame(this.timer);
    this.timer = null;
    this.look("play", "Play (space)");
  }

  look(name, label) {
    this.button.setAttribute("aria-label", label);
    this.button.title = label;
    this.button.querySelector("path").setAttribute("d", ICONS[name]);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select");
    const pressing = event.key === " " && event.target.closest?.("button, a, summary, input");
    if (typing || pressing || scrolling(event) || !this.trace) return;
    const far = event.shiftKey ? LEAP : 1;
    const moves = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.go(this.moment - far),
      ArrowRight: () => (far > 1 ? this.go(this.moment + far) : this.next()),
      Home: () => this.go(0),
      End: () => this.go(Infinity),
      m: () => this.trace.data.mistake && this.go(this.trace.data.mistake.step),
      ...(event.target === this.timeline.track && this.slides(far)),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  // What else a slider obeys; elsewhere these keys scroll the page.
  slides(far) {
    return {
      ArrowDown: () => this.go(this.moment - far),
      ArrowUp: () => this.go(this.moment + far),
      PageDown: () => this.go(this.moment - LEAP),
      PageUp: () => this.go(this.moment + LEAP),
    };
  }
}

// Whether an arrow key is for values that do not fit side by side.
function scrolling({ key, target }) {
  const values = key.startsWith("Arrow") && target.closest?.(".values");
  return values && values.scrollWidth > values.clientWidth;
}

function icon(name, label, act) {
  const picture = shape(
    "svg",
    { viewBox: "0 0 24 24", "aria-hidden": "true" },
    shape("path", { d: ICONS[name] }),
  );
  return element(
    "button",
    { type: "button", class: "icon", "aria-label": label, title: label, onclick: act },
    picture,
  );
}
