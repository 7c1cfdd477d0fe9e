// The page: a problem on one side, what net and algorithm make of it on the other.

import { byId, element } from "./dom.js";
import { Details } from "./details.js";
import { foldable } from "./fold.js";
import { Looks } from "./looks.js";
import { Player } from "./player.js";
import { Problem } from "./problem.js";
import { Stage } from "./stage.js";
import { summary } from "./summary.js";
import { followTheme } from "./theme.js";
import { Trace } from "./trace.js";

let stage = null;

const player = new Player(draw, lookAtIt);
const details = new Details(
  (moment) => player.go(moment),
  () => stage.draw(player.moment),
);

// While it plays, all the values wait until there is time for them: the pictures keep their pace.
let waiting = 0;
function drawDetails(moment) {
  cancelIdleCallback(waiting);
  if (!player.timer) return details.draw(moment);
  waiting = requestIdleCallback(() => details.draw(player.moment), { timeout: 400 });
}

function draw(moment) {
  stage.draw(moment);
  drawDetails(moment);
  if (!player.timer) byId("live").textContent = stage.said("net", moment);
}

// On a phone the pictures may be far below the form.
function lookAtIt() {
  if (matchMedia("(max-width: 640px)").matches) byId("stage").scrollIntoView();
}

// The address stays: it names the algorithm.
function skip(event) {
  event.preventDefault();
  byId("stage").focus({ preventScroll: true });
  byId("stage").scrollIntoView();
}

function show(data) {
  const trace = new Trace(data);
  const looks = new Looks(trace);
  stage = new Stage(trace, looks);
  byId("summary").replaceChildren(...summary(trace, (moment) => player.go(moment)));
  byId("stage").replaceChildren(...stage.parts);
  details.load(trace, looks);
  player.load(trace);
  document.body.classList.add("ready");
}

async function start() {
  followTheme(byId("theme"));
  byId("skip").addEventListener("click", skip);
  byId("player").append(...player.parts);
  byId("details").append(...details.parts);
  const exported = JSON.parse(byId("trace").textContent);
  if (exported) {
    byId("model").textContent = "a trace to share";
    return show(exported);
  }
  await begin(new Problem(show));
}

// The form is shown when it can be used; until then, why not.
async function begin(problem) {
  try {
    byId("model").textContent = `net: ${await problem.load()}`;
    byId("problem").replaceChildren(...problem.parts);
    foldable(document.querySelector(".top"));
  } catch (error) {
    byId("problem").replaceChildren(...failure(error, () => begin(problem)));
  }
  byId("problem").hidden = false;
}

function failure(error, retry) {
  const onclick = async () => {
    await retry();
    byId("problem").querySelector("button, select").focus();
  };
  return [
    element("p", { class: "error", role: "alert" }, error.message),
    element("button", { type: "button", onclick }, "Try again"),
  ];
}

start().catch((error) => (byId("model").textContent = error.message));
