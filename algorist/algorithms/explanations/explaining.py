"""How an algorithm explains itself: its pseudocode, a sentence for each step, what nodes are to it.

Everything is optional, so that an algorithm of a plug-in needs none of it:

    Explanation(
        pseudocode="set the smallest so far to the first key\\nfor each further key ...",
        line=lambda run, step: 1 if step == 0 else 2,
        tell=lambda run, step: ("looks at {}", run.called("i", step)),
        roles=(Role("busy", at("i"), "compared now"),),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from algorist.algorithms.explanations.runs import Role, TracedRun

Lines = int | tuple[int, ...]
"""Lines of pseudocode, counted from 1."""
Sentence = tuple[str, ...]
"""A text with `{}` where values stand, and the values."""


@dataclass(frozen=True)
class Explanation:
    """What is said and shown about a run of an algorithm."""

    pseudocode: str = ""
    line: Callable[[TracedRun, int], Lines] | None = None
    """The lines of the pseudocode that led to a step of the algorithm's own run."""
    tell: Callable[[TracedRun, int], Sentence] | None = None
    """What happens at a step, of the algorithm's run or of a net's."""
    roles: Sequence[Role] = ()
    """What nodes are at a step."""
    answer: Sequence[Role] = ()
    """What nodes are in the answer; the rules look at outputs as if they were hints."""
    tags: tuple[str, ...] | None = None
    """The hints of kind `mask_one` whose names are shown at first; None: all."""
    number: str | None = None
    """The hint whose numbers stand at the nodes at first; None: the first of its kind."""
    badges: tuple[str, ...] | None = None
    """The hints of the whole graph that are shown at first; None: all."""
    clocks: tuple[str, ...] = ()
    """Hints that count in hundredths; they are shown as whole numbers."""
    shift: Callable[[TracedRun, int], int] | None = None
    """Of two strings: below which letter of the first the second one is drawn."""

    @property
    def lines(self) -> list[str]:
        """The pseudocode line by line."""
        return self.pseudocode.strip("\n").splitlines()

    def lines_at(self, run: TracedRun, step: int) -> tuple[int, ...]:
        """The lines of a step, counted from 1."""
        if self.line is None:
            return ()
        found = self.line(run, step)
        return (found,) if isinstance(found, int) else found
