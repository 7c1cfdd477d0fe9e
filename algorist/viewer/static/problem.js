// Choose an algorithm, and draw a problem or type one in.

import { element } from "./dom.js";

const FIRST = { algorithm: "dijkstra", n: 9, seed: 4 };

export class Problem {
  constructor(solve) {
    this.solve = solve;
    this.error = element("p", { class: "error", role: "alert" });
    this.choice = element("select", { id: "algorithm" });
    this.choice.addEventListener("change", () => this.chosen());
    this.n = element("input", { type: "number", id: "n", min: 1, max: 64, value: FIRST.n, required: true, inputmode: "numeric" });
    this.seed = element("input", { type: "number", id: "seed", min: 0, value: FIRST.seed, required: true, inputmode: "numeric" });
    this.fields = element("div", { class: "fields" });
    this.draw = element("button", { type: "submit", class: "primary" }, "Draw");
    this.submit = element("button", { type: "submit", class: "primary" }, "Solve");
    this.own = element("details", { class: "own", open: matchMedia("(min-width: 960px)").matches },
      element("summary", {}, "Your own problem"),
      element("form", { novalidate: true, onsubmit: (event) => this.typed(event) }, this.fields,
        element("div", { class: "row" }, this.submit, element("button", { type: "button", class: "quiet", onclick: () => this.fill({}) }, "Example"))),
    );
    this.parts = [
      element("label", { class: "choice" }, element("span", {}, "Algorithm"), this.choice),
      element("form", { class: "random", novalidate: true, onsubmit: (event) => this.drawn(event) },
        labelled("Nodes", this.n), labelled("Seed", this.seed), this.draw,
        element("button", { type: "button", class: "quiet", id: "another", title: "another random problem", onclick: () => this.another() }, "Another")),
      this.own, this.error,
    ];
  }

  async load() {
    const found = await ask("api/algorithms");
    this.known = new Map(found.algorithms.map((algorithm) => [algorithm.name, algorithm]));
    this.n.max = found.most_nodes;
    const families = Map.groupBy(found.algorithms, (algorithm) => algorithm.family);
    this.choice.replaceChildren(...[...families].map(([family, members]) =>
      element("optgroup", { label: family.replaceAll("_", " ") }, members.map(({ name }) => element("option", { value: name }, name)))));
    const wanted = decodeURIComponent(location.hash.slice(1)) || FIRST.algorithm;
    if (this.known.has(wanted)) this.choice.value = wanted;
    addEventListener("hashchange", () => this.followed());
    this.chosen();
    return found.model;
  }

  followed() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (!this.known.has(wanted) || wanted === this.choice.value) return;
    this.choice.value = wanted;
    this.chosen();
  }

  chosen() {
    history.replaceState(null, "", `#${this.choice.value}`);
    this.fields.replaceChildren(...this.known.get(this.choice.value).fields.map(field));
    this.drawn();
  }

  drawn(event) {
    event?.preventDefault();
    this.ask({ random: { n: number(this.n), seed: number(this.seed) } });
  }

  another() {
    this.seed.value = Math.floor(Math.random() * 10000);
    this.drawn();
  }

  typed(event) {
    event.preventDefault();
    const fields = {};
    for (const box of this.boxes()) fields[box.name] = box.value;
    this.ask({ fields });
  }

  boxes() {
    return this.fields.querySelectorAll("input, textarea, select");
  }

  // Put texts into the fields; where there is none, the example.
  fill(texts) {
    for (const box of this.boxes()) box.value = texts[box.name] ?? box.dataset.example;
  }

  async ask(problem) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.busy(true);
    try {
      const trace = await ask("api/solve", { algorithm: this.choice.value, ...problem });
      if (turn !== this.turn) return;
      this.error.textContent = "";
      if (trace.fields) this.fill(trace.fields);
      this.solve(trace);
    } catch (error) {
      if (turn === this.turn) this.error.textContent = error.message;
    } finally {
      if (turn === this.turn) this.busy(false);
    }
  }

  busy(is) {
    for (const button of [this.draw, this.submit]) button.disabled = is;
    document.body.classList.toggle("busy", is);
  }
}

// What is no whole number is sent as it is, for the server to say what is wrong with it.
function number(input) {
  return input.value !== "" && Number.isInteger(Number(input.value)) ? Number(input.value) : input.value;
}

function labelled(text, input) {
  return element("label", { class: "number" }, element("span", {}, text), input);
}

function field({ name, label, example, lines, choices }) {
  const look = { id: `field-${name}`, name, "data-example": example, spellcheck: "false", autocomplete: "off", autocapitalize: "off" };
  const box = choices.length
    ? element("select", look, choices.map((choice) => element("option", {}, choice)))
    : lines > 1 ? element("textarea", { ...look, rows: lines, placeholder: example })
    : element("input", { ...look, placeholder: example });
  return element("label", { for: look.id, class: "field" }, element("span", {}, label), box);
}

async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer: is `algorist view` still running?");
  }
  const found = await answer.json();
  if (found.error) throw new Error(found.error);
  return found;
}
