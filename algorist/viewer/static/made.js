// Who made what is shown: the net, its score and the version.

export function madeText({ algorithm, made }) {
  if (!made) return "";
  const { net, score, version } = made;
  const known = score === null ? "" : ` (${score.toFixed(1)} % in ${algorithm} at n = 64)`;
  return [`net: ${net}${known}`, `algorist ${version}`.trim()].join(" · ");
}
