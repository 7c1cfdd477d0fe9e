// Where the nodes of a graph are put: on an ellipse, or where springs pull them if edges are few.

export const WIDTH = 520;
export const HEIGHT = 360;
const GRAVITY = 0.35; // keeps what hangs together with nothing from drifting away
const STRETCH = 1.7; // the most that one direction is scaled more than the other

export function edgesOf(trace) {
  const n = trace.nodes;
  const weights = trace.input("A");
  const at = (i, j) => weights[i * n + j];
  let symmetric = true;
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) symmetric &&= at(i, j) === at(j, i);
  const edges = [];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i !== j && at(i, j) !== 0 && (!symmetric || i < j)) {
        edges.push({ i, j, weight: at(i, j), both: !symmetric && at(j, i) !== 0 });
      }
    }
  }
  const weighted = weights.some((weight) => weight !== 0 && weight !== 1);
  return { edges, directed: !symmetric, weighted };
}

export function placed(trace, edges, margins) {
  const n = trace.nodes;
  const circle = Array.from({ length: n }, (_, i) => {
    const angle = (2 * Math.PI * i) / n - Math.PI / 2;
    return { x: Math.cos(angle), y: Math.sin(angle) };
  });
  const sparse = n > 3 && edges.length < 1.6 * n;
  return fitted(sparse ? relaxed(circle, edges) : circle, margins);
}

// Springs along edges, repulsion between all nodes (Fruchterman and Reingold, 1991).
function relaxed(start, edges) {
  const points = start.map((point) => ({ ...point }));
  const ideal = 1.6 / Math.sqrt(points.length);
  for (let heat = 0.2; heat > 0.002; heat *= 0.985) {
    const forces = points.map(({ x, y }) => ({ x: -GRAVITY * x, y: -GRAVITY * y }));
    const push = (i, j, size) => {
      const [dx, dy] = [points[i].x - points[j].x, points[i].y - points[j].y];
      const distance = Math.hypot(dx, dy) || 1e-3;
      const force = size(distance) / distance;
      forces[i].x += dx * force;
      forces[i].y += dy * force;
      forces[j].x -= dx * force;
      forces[j].y -= dy * force;
    };
    for (let i = 0; i < points.length; i++) {
      for (let j = 0; j < i; j++)
        push(i, j, (distance) => (distance < 3 * ideal ? ideal ** 2 / distance : 0));
    }
    for (const { i, j } of edges) push(i, j, (distance) => -(distance ** 2) / (2 * ideal));
    points.forEach((point, i) => {
      const size = Math.hypot(forces[i].x, forces[i].y) || 1;
      point.x += (forces[i].x / size) * Math.min(size, heat);
      point.y += (forces[i].y / size) * Math.min(size, heat);
    });
  }
  return points;
}

// Points stretched to the room that there is between margins at the sides and above and below.
export function fitted(points, [beside, above], { even = false } = {}) {
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const [left, right, top, bottom] = [
    Math.min(...xs),
    Math.max(...xs),
    Math.min(...ys),
    Math.max(...ys),
  ];
  let across = (WIDTH - 2 * beside) / (right - left || 1);
  let down = (HEIGHT - 2 * above) / (bottom - top || 1);
  const stretch = even ? 1 : STRETCH;
  [across, down] = [Math.min(across, stretch * down), Math.min(down, stretch * across)];
  const [cx, cy] = [(left + right) / 2, (top + bottom) / 2];
  return points.map(({ x, y }) => ({
    x: WIDTH / 2 + (x - cx) * across,
    y: HEIGHT / 2 + (y - cy) * down,
  }));
}
