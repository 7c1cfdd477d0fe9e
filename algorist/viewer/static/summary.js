// The answer: whether it is right, what it is, and where the net first went wrong.

import { element } from "./dom.js";

export function summary(trace, go) {
  const { answer, share, mistake, algorithm, family, description } = trace.data;
  const hints = share === null ? null : `${Math.floor(share * 1000) / 10} % of the hints are right.`;
  return [
    element(
      "div", { class: "about" },
      element("h1", { "data-name": algorithm }, algorithm.replaceAll("_", "_\u200b")), // may break there
      element("p", { class: "family" }, `${family.replaceAll("_", " ")} · ${trace.nodes} nodes · ${trace.steps} ${trace.steps === 1 ? "step" : "steps"}`),
      element("p", { class: "description" }, description),
    ),
    element(
      "div", { class: `verdict ${answer.right ? "right" : "wrong"}` },
      element("span", { class: "sign", "aria-hidden": "true" }, answer.right ? "✓" : "×"),
      element(
        "div", {},
        element("p", { class: "said" }, answer.verdict),
        element("p", {}, hints ?? ""),
        mistake
          ? element("p", {}, "First mistake: ", element("button", { type: "button", class: "link", title: "go there (m)", onclick: () => go(mistake.step) }, mistake.text))
          : element("p", {}, share === null ? "The net predicts no hints here." : "No mistake on the way."),
      ),
    ),
    bothAnswers(answer),
  ];
}

// Short answers one above the other, long ones by node.
function bothAnswers({ net, algorithm, right }) {
  const truth = new Map(algorithm);
  const brief = [...net, ...algorithm].every(([, text]) => text.length <= 60) && net.length <= 2;
  const single = net.length === 1 && net[0][0] === "";
  const row = (name, ours, theirs) =>
    element(
      "tr", { class: right || ours === theirs ? "" : "differs" },
      single ? null : element("th", { scope: "row" }, name),
      element("td", {}, ours), element("td", {}, theirs ?? "–"),
    );
  return element(
    "details", { class: "answers", open: brief },
    element("summary", {}, "Both answers"),
    element(
      "div", { class: "scroll" },
      element(
        "table", {},
        element("thead", {}, element("tr", {}, single ? null : element("th", { scope: "col" }, "node"), element("th", { scope: "col" }, "net"), element("th", { scope: "col" }, "algorithm"))),
        element("tbody", {}, net.map(([name, ours]) => row(name, ours, truth.get(name)))),
      ),
    ),
  );
}
