// A trace: what net and algorithm hold of each feature at each moment.
//
// The moments are the steps, 0 to steps - 1, which show hints, and after them the answer, which
// shows outputs. Sides are "net" and "algorithm".

export class Trace {
  constructor(data) {
    this.data = data;
    this.nodes = data.nodes;
    this.steps = data.steps;
    this.answer = data.steps;
    this.features = data.features;
    this.inputs = data.features.filter((feature) => feature.stage === "input");
    this.hints = data.features.filter((feature) => feature.stage === "hint");
    this.outputs = data.features.filter((feature) => feature.stage === "output");
    this.silent = !this.hints.some((hint) => hint.predicted); // the net only answers
    for (const hint of Object.values(data.hints)) {
      for (const what of ["net", "algorithm", "confidence"]) {
        if (hint[what]) hint[what] = repeated(hint[what]);
      }
    }
    for (const role of data.explanation.roles) {
      for (const side of ["net", "algorithm"]) role[side] = repeated(role[side]);
    }
    this.largest = new Map();
    this.mistakes = new Map();
  }

  input(name) {
    return this.data.inputs[name];
  }

  has(name) {
    return name in this.data.inputs;
  }

  // The letters of two strings: the user's, or some for the classes.
  get letters() {
    const { named, names } = this.data;
    return named ? names : this.input("key").map((letter) => "abcd"[letter]);
  }

  at(moment) {
    return moment < this.steps ? this.hints : this.outputs;
  }

  // What nodes can be at a moment: see `explanations` in Python.
  roles(moment) {
    const { roles, answer } = this.data.explanation;
    return moment < this.steps ? roles : answer;
  }

  roleNodes(role, side, moment) {
    return role[side][moment < this.steps ? moment : 0];
  }

  // The lines of the pseudocode that led to a moment, counted from 1.
  lines(moment) {
    return this.data.explanation.lines[moment] ?? [];
  }

  // What happens at a moment, on one side: a text with {} for values, and the values; or null.
  sentence(side, moment) {
    return this.data.explanation.sentences?.[side]?.[moment] ?? null;
  }

  // Below which letter of the first string the second one stands.
  shift(side, moment) {
    const { shifts } = this.data.explanation;
    if (moment < this.steps) return shifts?.[side][moment] ?? 0;
    const match = this.outputs.find(({ kind }) => kind === "mask_one");
    return match ? this.values(side, match, moment)[0] : 0;
  }

  values(side, feature, moment) {
    if (feature.stage === "output") return this.data.outputs[feature.name][side];
    const hint = this.data.hints[feature.name];
    return (hint[side] ?? hint.algorithm)[moment];
  }

  // Which values of the net are wrong, by their places.
  wrong(side, feature, moment) {
    const key = `${side} ${feature.name} ${moment}`;
    if (!this.mistakes.has(key)) {
      const { wrong = [] } = this.data.hints[feature.name] ?? this.data.outputs[feature.name];
      const places = feature.stage === "output" ? wrong : wrong[moment];
      this.mistakes.set(key, new Set(side === "net" ? places : []));
    }
    return this.mistakes.get(key);
  }

  // How sure the net is of each value, in percent; null where it does not say or is not asked.
  confidence(side, feature, moment) {
    if (side === "algorithm") return null;
    if (feature.stage === "output") return this.data.outputs[feature.name].confidence ?? null;
    return (moment > 0 && this.data.hints[feature.name].confidence?.[moment]) || null;
  }

  // Whether a hint is the same at every step.
  constant(hint) {
    const moments = this.data.hints[hint.name].algorithm;
    return moments.every((moment) => moment === moments[0]);
  }

  // The share of a hint's values that is right at each step.
  shares(feature) {
    return this.data.hints[feature.name]?.shares ?? null;
  }

  // The largest true number of all that the net predicts on its way.
  get scale() {
    const numbers = this.hints.filter(({ kind, predicted }) => kind === "scalar" && predicted);
    return Math.max(0, ...numbers.map((feature) => this.largestOf(feature)));
  }

  // A number as a share of the largest true one of its feature.
  share(feature, value) {
    return Math.min(Math.abs(value ?? 0) / this.largestOf(feature), 1);
  }

  // A number of a feature as pictures write it.
  number(feature, value) {
    return shortAmong(value, this.largestOf(feature));
  }

  largestOf(feature) {
    if (!this.largest.has(feature.name)) {
      const { algorithm } = this.data.hints[feature.name] ?? this.data.outputs[feature.name];
      const moments = feature.stage === "output" ? [algorithm] : algorithm;
      this.largest.set(feature.name, Math.max(...moments.map(largestSize), 1e-12));
    }
    return this.largest.get(feature.name);
  }

  // A value as people read it.
  text(feature, value) {
    if (value === null) return "–";
    if (feature.kind === "scalar") return short(value);
    if (value < 0) return "–";
    if (feature.kind === "mask") return value ? "yes" : "no";
    if (feature.kind === "categorical") return String(value);
    return this.has("string") ? this.letterAndPlace(value) : this.data.names[value];
  }

  // A letter alone would not say which of those that are alike.
  letterAndPlace(node) {
    const second = this.input("string").indexOf(1);
    return `${this.letters[node]}@${node < second ? node : node - second}`;
  }
}

export function short(value) {
  if (value === null) return "–";
  const size = Math.abs(value);
  if (size >= 1e9 || (size !== 0 && size < 0.001)) return value.toExponential(0);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(2))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(2))}k`;
  return String(Number(value.toPrecision(size >= 100 ? 3 : 2)));
}

// With no more digits than the largest of several numbers deserves.
export function shortAmong(value, largest) {
  if (value === null) return short(value);
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(largest || 1)));
  return short(Number(value.toFixed(Math.min(decimals, 20))));
}

export function counted(count, what) {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function isPointer(feature) {
  return feature.kind === "pointer" || feature.kind === "should_be_permutation";
}

export function largestSize(values) {
  return Math.max(...values.map((value) => Math.abs(value ?? 0)));
}

// A moment that equals the one before it is not written down.
function repeated(moments) {
  let last = null;
  return moments.map((moment) => (last = moment ?? last));
}
