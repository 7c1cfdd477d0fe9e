// What is shown, as the address has it: #heapsort?n=9&seed=4&net=specialists&step=5
//
// A place is { algorithm, problem, net, beside, truth, step }. Its problem is { random: { n, seed } }
// or { fields }, or null: the first one of the algorithm. Nets are null where they are the default.

const FIELD = "in.";

export function placeOf(hash) {
  const [name, ...rest] = hash.slice(1).split("?");
  const given = new URLSearchParams(rest.join("?"));
  return {
    algorithm: decodeURIComponent(name),
    problem: problemOf(given),
    net: given.get("net"),
    beside: given.get("beside"),
    truth: (given.get("truth") ?? "").split(",").filter(Boolean).map(Number),
    step: Number(given.get("step") ?? 0) || 0,
  };
}

function problemOf(given) {
  const texts = [...given].filter(([key]) => key.startsWith(FIELD));
  if (texts.length) {
    return { fields: Object.fromEntries(texts.map(([key, text]) => [key.slice(3), text])) };
  }
  if (!given.has("n")) return null;
  const [n, seed] = ["n", "seed"].map((name) => whole(given.get(name) ?? "0"));
  return { random: { n, seed } };
}

// What is no whole number stays as it is, for the server to say what is wrong with it.
export function whole(text) {
  return text.trim() !== "" && Number.isInteger(Number(text)) ? Number(text) : text;
}

export function hashOf({ algorithm, problem, net, beside, truth = [], step = 0 }) {
  const query = new URLSearchParams({ ...problem?.random });
  for (const [name, text] of Object.entries(problem?.fields ?? {})) query.set(FIELD + name, text);
  if (net) query.set("net", net);
  if (beside) query.set("beside", beside);
  if (truth.length) query.set("truth", truth.join(","));
  if (step) query.set("step", step);
  const text = query.toString();
  return `#${encodeURIComponent(algorithm)}${text && "?"}${text}`;
}

// Whether two places differ in nothing but the step.
export function samePlace(one, other) {
  return one !== null && hashOf({ ...one, step: 0 }) === hashOf({ ...other, step: 0 });
}
