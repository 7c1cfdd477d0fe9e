// Which net is watched, and what is shown beside it: the algorithm, or another net.

import { element } from "./dom.js";

export class NetChoices {
  constructor(changed) {
    this.net = element("select", { id: "net", onchange: changed });
    this.beside = element("select", { id: "beside", onchange: changed });
    this.parts = [netChoice("Net", this.net), netChoice("Beside it", this.beside)];
  }

  load(nets) {
    this.nets = nets;
    this.default = nets[0].name;
    this.parts[0].hidden = this.parts[1].hidden = nets.length < 2;
  }

  // The nets that know an algorithm, of which some are chosen.
  show(algorithm, { net, beside }) {
    const able = this.nets.filter((each) => each.algorithms.includes(algorithm));
    const options = able.map((each) => {
      const score = this.score(each.name, algorithm);
      const text = score === null ? each.name : `${each.name} · ${Math.round(score)} %`;
      return element("option", { value: each.name }, text);
    });
    this.net.replaceChildren(...options);
    this.beside.replaceChildren(
      element("option", { value: "" }, "the algorithm"),
      ...options.map((option) => option.cloneNode(true)),
    );
    this.net.value = able.some(({ name }) => name === net) ? net : this.default;
    this.beside.value = able.some(({ name }) => name === beside) ? beside : "";
  }

  // As a place has them: null for what is usual.
  get chosen() {
    return {
      net: this.net.value === this.default ? null : this.net.value,
      beside: this.beside.value || null,
    };
  }

  // Whether a name is that of a net, or none is named.
  has(net) {
    return !net || this.nets.some(({ name }) => name === net);
  }

  // The points of a curve: accuracy by size, as far as it is known.
  curve(net, algorithm) {
    return this.nets.find(({ name }) => name === net)?.curves[algorithm] ?? [];
  }

  // In the official test, in percent; null if it is not known.
  score(net, algorithm) {
    return this.curve(net, algorithm).find(({ n }) => n === 64)?.score ?? null;
  }
}

function netChoice(text, select) {
  return element("label", { class: "choice" }, element("span", {}, text), select);
}
