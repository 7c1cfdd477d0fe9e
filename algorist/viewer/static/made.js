// Who made what is shown: the net, its score, the version, and where to get it.

export function madeText({ algorithm, made }) {
  if (!made) return "";
  const { net, score, version, get } = made;
  const known = score === null ? "" : ` (${score.toFixed(1)} % in ${algorithm} at n = 64)`;
  return [`net: ${net}${known}`, `algorist ${version}`.trim(), get].join(" · ");
}
