// Places for labels where they cover neither each other nor anything else.

const OUTSIDE = 40;
const ON_LINE = 6;

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
    const covered = this.boxes.reduce((sum, other) => sum + shared(box, other), 0);
    const crossed = this.lines.filter((line) => line !== box.own && meets(line, box)).length;
    return covered + ON_LINE * crossed + OUTSIDE * beyond(box, this.bounds) + (box.far ?? 0);
  }
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

// Boxes around a point at a distance: below and above first, then beside, then at the corners.
export function around({ x, y }, distance, { width, height }) {
  const [left, middle, right] = [x - distance - width, x - width / 2, x + distance];
  const [top, centre, bottom] = [y - distance - height, y - height / 2, y + distance];
  const near = 0.72 * distance;
  const places = [
    [middle, top],
    [middle, bottom],
    [right, centre],
    [left, centre],
    [x + near, y - near - height],
    [x - near - width, y - near - height],
    [x + near, y + near],
    [x - near - width, y + near],
  ];
  return places.map(([x, y]) => ({ x, y, width, height }));
}
