// The answer: whether it is right, what it is, and where the net first went wrong.

import { element } from "./dom.js";
import { counted } from "./trace.js";

export function summary(trace, go) {
  const { answer, share, mistake, algorithm, family, description } = trace.data;
  const hints =
    share === null ? null : `${Math.floor(share * 1000) / 10} % of the hints are right.`;
  return [
    element(
      "div",
      { class: "about" },
      element("h1", { "data-name": algorithm }, ...breakable(algorithm)),
      element("p", { class: "family" }, `${family.replaceAll("_", " ")} · ${size(trace)}`),
      element("p", { class: "description" }, description),
    ),
    element(
      "div",
      { class: `verdict ${answer.right ? "right" : "wrong"}` },
      element("span", { class: "sign", "aria-hidden": "true" }, answer.right ? "✓" : "×"),
      element(
        "div",
        {},
        element("p", { class: "said" }, answer.verdict),
        element("p", {}, hints ?? ""),
        bothAnswers(answer),
        element("p", {}, mistake ? ["First mistake: ", link(mistake, go)] : faultless(trace)),
      ),
    ),
    element("button", { type: "button", class: "quiet reveal", onclick: reveal }, "Is the net right?"),
  ];
}

// The verdict comes with the answer, or when somebody asks for it.
function reveal() {
  document.body.classList.add("told");
}

// What was read as the problem, in the words of the command line, and how long the run is.
function size({ data, nodes, steps }) {
  return `${data.answer.read || counted(nodes, "node")} · ${counted(steps, "step")}`;
}

function link({ step, text }, go) {
  const look = { type: "button", class: "link", title: `${text}: go there (m)`, onclick: () => go(step) };
  return element("button", look, text);
}

function faultless({ silent }) {
  return silent ? "This net predicts no hints." : "No mistake on the way.";
}

// In a window of its own, by node or by output where there are several: nothing moves when it opens.
function bothAnswers({ net, algorithm, right, pieces }) {
  const truth = new Map(algorithm);
  const single = net.length === 1 && net[0][0] === "";
  const headings = single ? ["net", "algorithm"] : [pieces, "net", "algorithm"];
  const row = (name, ours, theirs) =>
    element(
      "tr",
      { class: right || ours === theirs ? "" : "differs" },
      single ? null : element("th", { scope: "row" }, name),
      element("td", {}, ours),
      element("td", {}, theirs ?? "–"),
    );
  return element(
    "details",
    { class: "answers" },
    element("summary", {}, "Both answers"),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            headings.map((name) => element("th", { scope: "col" }, name)),
          ),
        ),
        element(
          "tbody",
          {},
          net.map(([name, ours]) => row(name, ours, truth.get(name))),
        ),
      ),
    ),
  );
}

// A name whose lines may end after each _; what is copied is the name alone.
function breakable(name) {
  const [first, ...others] = name.split("_");
  return [first, ...others.flatMap((part) => ["_", element("wbr"), part])];
}
