// What happens at a moment, in words: on one side, or on the algorithm's and what the net says to it.

import { element } from "./dom.js";

// The parts of a sentence of one side; the net's values that differ from the algorithm's stand out.
export function ownSentence(trace, side, moment) {
  const sentence = trace.sentence(side, moment);
  if (!sentence) return [];
  const truth = trace.sentence("algorithm", moment);
  const alike = truth[0] === sentence[0];
  const kind = (turn) => {
    if (side !== "net" || isRightAnswer(trace, moment)) return "";
    return alike ? difference(trace, sentence[turn], truth[turn]) : "different";
  };
  return wordsOf(sentence, kind);
}

// The algorithm's sentence, and the net's values or words where they differ.
export function bothSentences(trace, moment) {
  const truth = trace.sentence("algorithm", moment);
  if (!truth) return [];
  const said = wordsOf(truth, () => "");
  const net = trace.sentence("net", moment);
  if (!net) return said;
  if (net[0] !== truth[0]) return [...said, "; the net says: ", ...wordsOf(net, () => "different")];
  const others = net
    .map((value, turn) => [value, difference(trace, value, truth[turn])])
    .filter(([, kind]) => kind);
  if (!others.length) return [...said, "; so does the net"];
  if (isRightAnswer(trace, moment)) return [...said, "; the net has another right one"];
  const values = others.flatMap(([value, kind], turn) => [turn ? ", " : "", spoken(value, kind)]);
  return [...said, "; the net says ", ...values];
}

// There may be several right answers.
function isRightAnswer(trace, moment) {
  return moment === trace.answer && trace.data.answer.right;
}

// Whether a value is another one, or numbers in it are slightly off, or nothing of that ("").
function difference(trace, value, truth) {
  if (value === truth) return "";
  const [mine, right] = [value, truth].map((text) => text.split(" "));
  const near = (word, turn) => {
    const [a, b] = [Number(word), Number(right[turn])];
    const most = trace.data.tolerance * Math.max(Math.abs(b), trace.scale);
    return word === right[turn] || Math.abs(a - b) <= most;
  };
  return mine.length === right.length && mine.every(near) ? "off" : "different";
}

function wordsOf([text, ...values], kind) {
  return text
    .split("{}")
    .flatMap((words, turn) => (turn ? [spoken(values[turn - 1], kind(turn)), words] : [words]));
}

function spoken(text, kind) {
  return element("b", { class: kind }, kind === "off" ? `≈${text}` : text);
}
