"""Explanations of the thirty algorithms, a module for each family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from algorist.algorithms.explanations import (
    dynamic_programming,
    geometry,
    graph_search,
    greedy,
    searching,
    shortest_paths,
    sorting,
    spanning_trees,
    strings,
)
from algorist.algorithms.explanations.explaining import Explanation

if TYPE_CHECKING:
    from algorist.algorithms.declaring import Algorithm

EXPLANATIONS: dict[str, Explanation] = {
    **sorting.EXPLANATIONS,
    **searching.EXPLANATIONS,
    **greedy.EXPLANATIONS,
    **dynamic_programming.EXPLANATIONS,
    **graph_search.EXPLANATIONS,
    **shortest_paths.EXPLANATIONS,
    **spanning_trees.EXPLANATIONS,
    **strings.EXPLANATIONS,
    **geometry.EXPLANATIONS,
}
"""By algorithm."""


def explanation_of(algorithm: Algorithm) -> Explanation | None:
    """What an algorithm declares, or what is written here; None for a plug-in without any."""
    if algorithm.explanation is not None or not algorithm.is_part_of_the_package:
        return algorithm.explanation
    return EXPLANATIONS.get(algorithm.name)


__all__ = ["EXPLANATIONS", "Explanation", "explanation_of"]
