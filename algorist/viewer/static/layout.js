// The edges of a graph, and points brought to the room that there is.

const STRETCH = 1.9; // the most that one direction is scaled more than the other

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

// On an ellipse: where a plug-in has nodes without a graph.
export function circle(n) {
  return Array.from({ length: n }, (_, i) => {
    const angle = (2 * Math.PI * i) / n - Math.PI / 2;
    return { x: Math.cos(angle), y: Math.sin(angle) };
  });
}

// Points stretched to the room between margins: at the sides, above and below.
export function fitted(points, { width, height }, [beside, above, below], { even = false } = {}) {
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  let across = Math.max(width - 2 * beside, 1) / (right - left || 1);
  let down = Math.max(height - above - below, 1) / (bottom - top || 1);
  const stretch = even ? 1 : STRETCH;
  [across, down] = [Math.min(across, stretch * down), Math.min(down, stretch * across)];
  const [cx, cy] = [(left + right) / 2, (top + bottom) / 2];
  return points.map(({ x, y }) => ({
    x: width / 2 + (x - cx) * across,
    y: (height + above - below) / 2 + (y - cy) * down,
  }));
}
