"""Published scores on the benchmark's test sets (n = 64), in per cent."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from algorist.report.means import Mean

NETS = {
    "memnet": "Memnet",
    "mpnn": "MPNN",
    "pgn": "PGN",
    "triplet_gmpnn": "Triplet-GMPNN",
    "g_forgetnet": "G-ForgetNet",
}
"""Nets that were trained on one algorithm each.

The first three are of Veličković et al. (2022), Triplet-GMPNN of Ibarz et al. (2022), G-ForgetNet
of Bohde et al. (2024).
"""

SEEDS = {"memnet": 3, "mpnn": 3, "pgn": 3, "triplet_gmpnn": 10}
"""How many nets the means of this paper's tables are of."""
OF_THE_PAPER = tuple(SEEDS)
"""The nets in its tables."""
PGN_WITH_IMPROVEMENTS = 69.31
"""PGN with all improvements, mean over the families (Ibarz et al., 2022, section 3.3)."""


@cache
def published() -> dict[str, dict[str, Mean]]:
    """The scores of all nets, by algorithm."""
    with (files("algorist.report") / "published.csv").open(encoding="utf-8") as file:
        return {row["algorithm"]: _scores(row) for row in csv.DictReader(file)}


def _scores(row: dict[str, str]) -> dict[str, Mean]:
    scores = {}
    for net in NETS:
        error = row.get(f"{net}_err")
        scores[net] = Mean(float(row[net]), float(error) if error else None, SEEDS.get(net, 1))
    return scores
