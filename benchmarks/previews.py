"""Make the short runs that the gallery of `algorist view` plays, viewer/static/previews.json.

python benchmarks/previews.py
"""

from __future__ import annotations

import json

import algorist
from algorist.commands.inputs import Inputs, drawn
from algorist.viewer.previews import FILE, preview

N, SEED = 8, 4
OWN: dict[str, Inputs] = {
    "naive_string_matcher": {"text": "abcabcab", "pattern": "cab"},
    "kmp_matcher": {"text": "aabaabaaab", "pattern": "aaab"},
    "lcs_length": {"x": "abcbdab", "y": "bdcaba"},
}
"""Where random letters show little."""
DENSER = ("articulation_points", "bridges", "mst_kruskal")
"""Graphs of eight nodes that the benchmark draws for these have hardly an edge."""


def main() -> None:
    """Trace all thirty and write the file."""
    found = {name: preview(algorist.get(name), problem_of(name)) for name in algorist.algorithms()}
    text = json.dumps(found, allow_nan=False, separators=(",", ":"))
    FILE.write_text(text + "\n", encoding="utf-8")
    print(f"{len(found)} runs, {len(text):,} bytes, written to {FILE}")


def problem_of(name: str) -> Inputs:
    """A small problem in which something happens."""
    algorithm = algorist.get(name)
    if name in OWN:
        return OWN[name]
    if name not in DENSER:
        return drawn(algorithm, N, SEED)
    inputs = algorithm.sample(N, 1, SEED, {"p": 0.35}).inputs
    return {"A": inputs["A"][0]}


if __name__ == "__main__":
    main()
