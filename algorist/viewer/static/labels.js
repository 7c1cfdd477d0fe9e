// Places for labels where they cover neither each other nor anything else.

const OUTSIDE = 40;
const ON_LINE = 6;
const NEAR_LINE = 3;
const BESIDE_LINE = 4; // pixels that a box should keep away from lines

export class Labels {
  constructor(width, height) {
    this.bounds = { x: 0, y: 0, width, height };
    this.boxes = [];
    this.lines = [];
  }

  copy() {
    const made = new Labels(this.bounds.width, this.bounds.height);
    made.boxes = [...this.boxes];
    made.lines = this.lines;
    return made;
  }

  cover(box) {
    this.boxes.push(box);
  }

  // A line that labels had better not cover.
  avoid(from, to) {
    this.lines.push([from, to]);
  }

  // The first of some boxes that is free, or else the one that covers least; it is taken then.
  place(candidates) {
    let best = null;
    let least = Infinity;
    candidates.forEach((box, turn) => {
      const cost = this.cost(box) + 0.01 * turn;
      if (cost < least) [best, least] = [box, cost];
    });
    this.cover(best);
    return best;
  }

  cost(box) {
    const around = grown(box, BESIDE_LINE);
    const crosses = (line) => line !== box.own && meets(line, around);
    const covered = this.boxes.reduce((sum, other) => sum + shared(box, other), 0);
    const crossed = this.lines
      .filter(crosses)
      .reduce((sum, line) => sum + (meets(line, box) ? ON_LINE : NEAR_LINE), 0);
    return covered + crossed + OUTSIDE * beyond(box, this.bounds) + (box.far ?? 0);
  }
}

function grown({ x, y, width, height }, by) {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

function shared(a, b) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return width > 0 && height > 0 ? 10 + width * height : 0;
}

// How far a box is outside of another, in pixels.
function beyond(box, { x, y, width, height }) {
  return (
    Math.max(0, x - box.x) +
    Math.max(0, y - box.y) +
    Math.max(0, box.x + box.width - x - width) +
    Math.max(0, box.y + box.height - y - height)
  );
}

// Whether a line goes through a box: both are cut by each of the box's sides in turn.
function meets([from, to], box) {
  let [start, end] = [0, 1];
  const cuts = [
    [from.x - to.x, from.x - box.x],
    [to.x - from.x, box.x + box.width - from.x],
    [from.y - to.y, from.y - box.y],
    [to.y - from.y, box.y + box.height - from.y],
  ];
  for (const [speed, room] of cuts) {
    if (speed === 0 && room < 0) return false;
    if (speed < 0) start = Math.max(start, room / speed);
    if (speed > 0) end = Math.min(end, room / speed);
  }
  return start < end;
}

// Boxes around a point in all directions, the preferred one (an angle) first; each has the end of
// its text that is next to the point.
export function allAround({ x, y }, distance, { width, height }, preferred) {
  const turns = [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8];
  return turns.map((turn) => {
    const angle = preferred + (turn * Math.PI) / 8;
    const [across, down] = [Math.cos(angle), Math.sin(angle)];
    return {
      x: x + across * distance - width * before(across),
      y: y + down * distance - height * before(down),
      width,
      height,
      anchor: ["start", "middle", "end"][2 * before(across)],
    };
  });
}

// Which share of a box lies before its point.
function before(direction) {
  return direction > 0.35 ? 0 : direction < -0.35 ? 1 : 0.5;
}
