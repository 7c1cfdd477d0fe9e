// Choose an algorithm and a net, and draw a problem or type one in.

import { placeOf, samePlace, whole } from "./address.js";
import { ask, askForTrace } from "./asking.js";
import { byId, element } from "./dom.js";
import { NetChoices } from "./nets.js";
import { Waiting } from "./waiting.js";

export class Problem {
  constructor(show) {
    this.show = show;
    this.shown = null; // the place of what the stage shows
    this.waiting = new Waiting(() => this.cancel());
    byId("waiting").replaceChildren(...this.waiting.parts);
    this.nets = new NetChoices(() => this.ask({ ...this.place(), truth: [] }));
    this.error = element("p", { class: "error", role: "alert" });
    this.choice = element("select", { id: "algorithm", onchange: () => this.chosen() });
    const look = { type: "number", inputmode: "numeric" };
    this.n = element("input", { ...look, id: "n", min: 1 });
    this.seed = element("input", { ...look, id: "seed", min: 0 });
    this.limit = element("p", { class: "limit" });
    this.fields = element("div", { class: "fields", oninput: () => (this.edited = true) });
    this.parts = [
      element("label", { class: "choice" }, element("span", {}, "Algorithm"), this.choice),
      element("div", { class: "nets" }, this.nets.parts),
      this.random(),
      this.own(),
      this.error,
    ];
  }

  random() {
    return element(
      "form",
      { class: "random", novalidate: true, onsubmit: (event) => this.drawn(event) },
      element("h2", {}, "A random problem"),
      labelled("Nodes", this.n),
      labelled("Seed", this.seed),
      primary("Draw"),
      quiet("Another", "another random problem", () => this.another()),
      this.limit,
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
    this.found = found;
    this.known = new Map(found.algorithms.map((algorithm) => [algorithm.name, algorithm]));
    this.nets.load(found.nets);
    this.n.max = found.most_nodes;
    this.n.value = found.first.random.n;
    this.seed.value = found.first.random.seed;
    const steps = found.most_steps.toLocaleString("en");
    this.limit.textContent = `At most ${found.most_nodes} nodes and ${steps} steps can be shown.`;
    const families = Map.groupBy(found.algorithms, (algorithm) => algorithm.family);
    const groups = [...families].map(([family, members]) => {
      const options = members.map(({ name }) => element("option", { value: name }, name));
      return element("optgroup", { label: family.replaceAll("_", " ") }, options);
    });
    this.choice.replaceChildren(...groups);
    return found;
  }

  // Go where the address says; what it does not say is as the page begins.
  visit() {
    const place = placeOf(location.hash);
    if (!this.known.has(place.algorithm)) {
      Object.assign(place, { algorithm: this.found.first.algorithm, problem: null });
    }
    this.cancel();
    if (this.shown && samePlace(this.shown, place)) return this.show(null, place);
    this.ask(place);
    const absent = [place.net, place.beside].filter((name) => !this.nets.has(name));
    if (absent.length) this.error.textContent = `There is no net ${absent.join(", ")} here.`;
  }

  // The problem that an algorithm begins with.
  first(algorithm) {
    const { first, given } = this.found;
    if (algorithm === first.algorithm && (given === "fields" || given === "random"))
      return { [given]: first[given] };
    const own = this.known.get(algorithm).first;
    return own ? { fields: own } : { random: first.random };
  }

  // Another algorithm: its first problem, or where it has none one as the last was drawn.
  chosen() {
    const algorithm = this.choice.value;
    const random = { n: whole(this.n.value), seed: whole(this.seed.value) };
    const usual = JSON.stringify(random) === JSON.stringify(this.found.first.random);
    const problem = this.known.get(algorithm).first || usual ? null : { random };
    this.ask({ algorithm, problem, ...this.nets.chosen });
  }

  // What the controls say, with the problem that is shown.
  place() {
    const { algorithm, problem } = this.shown ?? { algorithm: this.choice.value };
    return { algorithm, problem, ...this.nets.chosen };
  }

  drawn(event) {
    event?.preventDefault();
    this.draw(whole(this.n.value), whole(this.seed.value));
  }

  draw(n, seed) {
    const algorithm = this.choice.value;
    this.ask({ algorithm, problem: { random: { n, seed } }, ...this.nets.chosen });
  }

  another() {
    this.seed.value = Math.floor(Math.random() * 10000);
    this.drawn();
  }

  // The button is far below where the form is long: what was asked for comes into view.
  async typed(event) {
    event.preventDefault();
    const fields = {};
    for (const box of this.boxes()) fields[box.name] = box.value;
    await this.ask({ algorithm: this.choice.value, problem: { fields }, ...this.nets.chosen });
    if (this.shown?.problem?.fields !== fields) return;
    const { top } = byId("summary").getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) byId("summary").scrollIntoView();
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

  // Let the controls say what a place is.
  display({ algorithm, problem, net, beside }) {
    if (this.fields.dataset.algorithm !== algorithm) {
      this.choice.value = this.fields.dataset.algorithm = algorithm;
      this.fields.replaceChildren(...this.known.get(algorithm).fields.map(field));
    }
    this.nets.show(algorithm, { net, beside });
    const { fields, random } = problem ?? this.first(algorithm);
    if (fields) return this.fill(fields);
    this.n.value = random.n;
    this.seed.value = random.seed;
  }

  // The last question counts; the same one again, while it is on its way, asks nothing.
  async ask(wanted) {
    const place = { ...wanted };
    this.edited = false;
    this.clear();
    this.display(place);
    Object.assign(place, this.nets.chosen); // a net that does not know the algorithm is left out
    const { algorithm, net, beside, truth } = place;
    const problem = place.problem ?? this.first(algorithm);
    const question = JSON.stringify({ algorithm, net, beside, truth, ...problem });
    if (question === this.question) return;
    this.stop?.abort();
    this.stop = new AbortController();
    this.question = question;
    this.waiting.begin(algorithm, this.shown?.algorithm);
    try {
      const told = (far) => question === this.question && this.waiting.told(far);
      const { text, trace } = await askForTrace(question, told, this.stop.signal);
      if (question !== this.question) return;
      this.settle("");
      const { fields } = { ...problem, ...trace };
      if (!this.edited) this.fill(fields);
      Object.assign(this, { shown: place, texts: fields });
      this.show({ text, trace }, place);
    } catch (error) {
      if (question === this.question) this.failed(error, algorithm);
    }
  }

  settle(text) {
    this.question = null;
    this.waiting.end(text);
  }

  // What was shown stays, if it is of the algorithm that the selector says.
  failed(error, algorithm) {
    const stays = this.shown?.algorithm === algorithm;
    this.settle(stays ? "" : `${algorithm}: there is nothing to show yet.`);
    this.complain(error);
  }

  cancel() {
    if (!this.question) return;
    this.stop.abort();
    if (this.shown) {
      this.settle("");
      this.display(this.shown);
      this.fill(this.texts);
    } else this.settle("Cancelled: there is nothing to show yet.");
  }

  // Say what is wrong at its field, or else below the form.
  complain({ message, field, atField }) {
    const drawn = { n: "Nodes: ", seed: "Seed: " }[field];
    const box = drawn ? this[field] : byId(`field-${field}`);
    if (!box) return (this.error.textContent = message);
    const text = element(
      "p",
      { class: "error", role: "alert", id: `error-${field}` },
      `${drawn ?? ""}${atField}`,
    );
    box.setAttribute("aria-invalid", "true");
    box.setAttribute("aria-describedby", text.id);
    box.closest("details")?.setAttribute("open", "");
    if (drawn) box.form.append(text);
    else box.closest("label").after(text);
  }

  clear() {
    this.error.textContent = "";
    for (const text of byId("problem").querySelectorAll("form .error")) text.remove();
    for (const box of byId("problem").querySelectorAll("[aria-invalid]")) {
      box.removeAttribute("aria-invalid");
      box.removeAttribute("aria-describedby");
    }
  }
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
