// Choose an algorithm, and draw a problem or type one in.

import { byId, element } from "./dom.js";

export class Problem {
  constructor(solve) {
    this.solve = solve;
    this.error = element("p", { class: "error", role: "alert" });
    this.choice = element("select", { id: "algorithm" });
    this.choice.addEventListener("change", () => this.chosen());
    const look = { type: "number", inputmode: "numeric" };
    this.n = element("input", { ...look, id: "n", min: 1 });
    this.seed = element("input", { ...look, id: "seed", min: 0 });
    this.fields = element("div", { class: "fields", oninput: () => (this.edited = true) });
    this.parts = [
      element("label", { class: "choice" }, element("span", {}, "Algorithm"), this.choice),
      this.random(),
      this.own(),
      this.error,
    ];
  }

  random() {
    return element(
      "form",
      { class: "random", novalidate: true, onsubmit: (event) => this.drawn(event) },
      labelled("Nodes", this.n),
      labelled("Seed", this.seed),
      primary("Draw"),
      quiet("Another", "another random problem", () => this.another()),
    );
  }

  own() {
    const example = quiet("Example", "put an example here", () => this.example());
    return element(
      "details",
      { class: "own", open: matchMedia("(min-width: 960px)").matches },
      element("summary", {}, "Your own problem"),
      element(
        "form",
        { novalidate: true, onsubmit: (event) => this.typed(event) },
        this.fields,
        element("div", { class: "row" }, primary("Solve"), example),
      ),
    );
  }

  async load() {
    const found = await ask("api/algorithms");
    this.known = new Map(found.algorithms.map((algorithm) => [algorithm.name, algorithm]));
    this.n.max = found.most_nodes;
    this.n.value = found.first.random.n;
    this.seed.value = found.first.random.seed;
    const families = Map.groupBy(found.algorithms, (algorithm) => algorithm.family);
    const groups = [...families].map(([family, members]) => {
      const options = members.map(({ name }) => element("option", { value: name }, name));
      return element("optgroup", { label: family.replaceAll("_", " ") }, options);
    });
    this.choice.replaceChildren(...groups);
    addEventListener("hashchange", () => this.followed());
    this.begin(found.first);
    return found.model;
  }

  // The address has the last word about the algorithm, so that a page that is loaded again stays.
  begin({ algorithm, fields, drawn }) {
    const wanted = [location.hash.slice(1), algorithm].find((name) => this.known.has(name));
    if (wanted) this.choice.value = wanted;
    if (fields && wanted === algorithm) {
      this.form();
      this.fill(fields);
      this.ask({ fields });
    } else if (drawn && wanted === algorithm) {
      this.form();
      this.drawn();
    } else this.chosen();
  }

  followed() {
    const wanted = location.hash.slice(1);
    if (!this.known.has(wanted) || wanted === this.choice.value) return;
    this.choice.value = wanted;
    this.chosen();
  }

  // The first problem is one that shows what the algorithm does; plug-ins have none.
  chosen() {
    this.form();
    const { first } = this.known.get(this.choice.value);
    if (!first) return this.drawn();
    this.fill(first);
    this.ask({ fields: first });
  }

  form() {
    history.replaceState(null, "", `#${this.choice.value}`);
    this.fields.replaceChildren(...this.known.get(this.choice.value).fields.map(field));
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

  example() {
    this.fill({});
    this.edited = true;
  }

  // Put texts into the fields; where there is none, the example.
  fill(texts) {
    for (const box of this.boxes()) box.value = texts[box.name] ?? box.dataset.example;
  }

  // The last question counts; the same one again, while it is on its way, asks nothing.
  async ask(problem) {
    this.edited = false;
    const question = JSON.stringify({ algorithm: this.choice.value, ...problem });
    if (question === this.question) return;
    this.busy(question);
    try {
      const trace = await ask("api/solve", question);
      if (question !== this.question) return;
      this.error.textContent = "";
      if (trace.fields && !this.edited) this.fill(trace.fields);
      this.solve(trace);
    } catch (error) {
      if (question === this.question) this.error.textContent = error.message;
    } finally {
      if (question === this.question) this.busy(null);
    }
  }

  // No button is disabled: it would lose the focus.
  busy(question) {
    this.question = question;
    byId("main").setAttribute("aria-busy", question !== null);
    document.body.classList.toggle("busy", question !== null);
  }
}

// What is no whole number is sent as it is, for the server to say what is wrong with it.
function number(input) {
  return input.value !== "" && Number.isInteger(Number(input.value))
    ? Number(input.value)
    : input.value;
}

function primary(text) {
  return element("button", { type: "submit", class: "primary" }, text);
}

function quiet(text, title, onclick) {
  return element("button", { type: "button", class: "quiet", title, onclick }, text);
}

function labelled(text, input) {
  return element("label", { class: "number" }, element("span", {}, text), input);
}

function field({ name, label, example, lines, choices }) {
  const look = { id: `field-${name}`, name, "data-example": example };
  const text = {
    placeholder: example,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
  };
  const options = choices.map((choice) => element("option", {}, choice));
  const box = options.length
    ? element("select", look, options)
    : lines > 1
      ? element("textarea", { ...look, ...text, rows: lines })
      : element("input", { ...look, ...text });
  return element("label", { for: look.id, class: "field" }, element("span", {}, label), box);
}

async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, body && { method: "POST", headers, body });
  } catch {
    throw new Error("The server does not answer: is `algorist view` still running?");
  }
  const found = await answer.json();
  if (found.error) throw new Error(found.error);
  return found;
}
