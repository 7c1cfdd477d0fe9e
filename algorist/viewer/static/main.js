// The page: a problem on one side, what net and algorithm make of it on the other.

import { hashOf, placeOf, samePlace } from "./address.js";
import { Breaks } from "./breaks.js";
import { Details } from "./details.js";
import { byId, element } from "./dom.js";
import { foldable } from "./fold.js";
import { Gallery } from "./gallery.js";
import { Looks } from "./looks.js";
import { madeText } from "./made.js";
import { Player } from "./player.js";
import { Predict } from "./predict.js";
import { Problem } from "./problem.js";
import { Share } from "./share.js";
import { Stage } from "./stage.js";
import { summary } from "./summary.js";
import { followTheme } from "./theme.js";
import { Trace } from "./trace.js";
import { Truth } from "./truth.js";

const STEP_PAUSE = 250; // milliseconds after which the address follows the step

let stage = null;
let place = null; // what is shown, as the address has it
let writing = null;
let free = null; // the last run in which the net had no help

const player = new Player(draw, lookAtIt);
const details = new Details(
  (moment) => player.go(moment),
  () => stage.draw(player.moment),
);
const share = new Share(player, () => stage);
const truth = new Truth((steps) => problem.ask({ ...place, step: player.moment, truth: steps }));
const predict = new Predict(player);
const problem = new Problem(show);
const breaks = new Breaks(problem);
const gallery = new Gallery(problem);

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
  truth.draw(moment);
  if (player.timer) return;
  byId("live").textContent = stage.said("net", moment);
  if (!place || location.protocol === "about:") return; // in a frame without an address
  place = { ...place, step: moment };
  clearTimeout(writing);
  writing = setTimeout(() => history.replaceState(null, "", hashOf(place)), STEP_PAUSE);
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

// Show an answer of the server; without one, only go to the step of the place.
function show(answer, next) {
  gallery.hide();
  if (answer) {
    const isNew = place !== null && !samePlace(placeOf(location.hash), next);
    clearTimeout(writing);
    history[isNew ? "pushState" : "replaceState"](null, "", hashOf(next));
    place = null; // until its pictures are there, no step is written into the address
    load(answer.trace, answer.text);
    breaks.show(next.algorithm);
  }
  place = next;
  player.go(next.step ?? 0);
}

function load(data, text) {
  const trace = new Trace(data);
  const looks = new Looks(trace);
  const other = data.beside ? new Trace(data.beside) : null;
  stage = new Stage(trace, looks, other);
  document.title = `${data.algorithm} · algorist`;
  byId("summary").replaceChildren(...summary(trace, (moment) => player.go(moment)));
  byId("stage").replaceChildren(...stage.parts);
  byId("made").textContent = madeText(data);
  byId("model").textContent = `net: ${data.made.net}`;
  details.load(trace, looks);
  truth.load(trace);
  predict.load(trace);
  share.load(data, text);
  player.load(trace, other ? { trace: other, name: data.beside.made.net } : unhelped(trace));
  document.body.classList.add("ready");
}

// The same run before the net was given the truth, if that was shown just before.
function unhelped(trace) {
  const { truth = [], algorithm, inputs } = trace.data;
  const problem = JSON.stringify([algorithm, inputs, trace.data.made]);
  if (!truth.length) free = { trace, problem, name: "without the truth" };
  return truth.length && free?.problem === problem ? free : null;
}

async function start() {
  followTheme(byId("theme"));
  byId("skip").addEventListener("click", skip);
  player.tries.append(predict.switch, truth.give);
  byId("player").append(...player.parts, predict.root, truth.root);
  byId("details").append(...details.parts);
  byId("share").append(...share.parts);
  document.body.classList.toggle("embedded", window !== window.parent);
  const exported = JSON.parse(byId("trace").textContent);
  if (exported) return showExported(exported);
  addEventListener("popstate", follow);
  await begin();
}

// A file holds a trace, or several to choose from.
function showExported(found) {
  document.body.classList.add("exported");
  const all = [found].flat();
  const open = (turn) => {
    place = null;
    load(all[turn], null);
    place = { algorithm: all[turn].algorithm };
  };
  const follow = () => player.go(placeOf(location.hash).step);
  if (all.length > 1) byId("model").before(chooser(all, open)); // first: the pictures get what it leaves
  open(0);
  follow();
  addEventListener("popstate", follow);
}

function chooser(all, open) {
  const onchange = ({ target }) => open(target.selectedIndex);
  const options = all.map(({ algorithm }) => element("option", {}, algorithm));
  return element("select", { id: "chooser", "aria-label": "Algorithm", onchange }, options);
}

// Where the address leads; without any, to the gallery.
function follow() {
  clearTimeout(writing);
  if (location.hash.length > 1 || problem.found.given) return problem.visit();
  problem.cancel();
  gallery.show();
}

// The form is shown when it can be used; until then, why not.
async function begin() {
  try {
    await problem.load();
    byId("problem").replaceChildren(...problem.parts);
    byId("problem").hidden = false;
    foldable(document.querySelector(".top"));
    follow();
  } catch (error) {
    byId("problem").replaceChildren(...failure(error));
    byId("problem").hidden = false;
  }
}

function failure(error) {
  const onclick = async () => {
    await begin();
    byId("problem").querySelector("button, select").focus();
  };
  return [
    element("p", { class: "error", role: "alert" }, error.message),
    element("button", { type: "button", onclick }, "Try again"),
  ];
}

start().catch((error) => (byId("model").textContent = error.message));
