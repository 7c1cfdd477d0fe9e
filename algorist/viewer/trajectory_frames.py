"""Drawings of trajectories for pages about learners: the page of `algorist view`, in a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from algorist.algorithms import get
from algorist.report.trajectories import choose_examples, small_problem
from algorist.version import __version__
from algorist.viewer.app import App
from algorist.viewer.pages import page

if TYPE_CHECKING:
    from algorist.model.learner import Learner


def trajectory_frame(name: str, learners: Mapping[str, Learner], tested: Iterable[str]) -> str:
    """A frame in which some of the algorithms that were tested can be watched, step by step."""
    app = App(learners, name, version=__version__)
    chosen = [get(each) for each in choose_examples(tested)]
    traces = [app.trace(algorithm, small_problem(algorithm)) for algorithm in chosen]
    if not traces:
        return ""
    inside = escape(page(traces).html)
    return f'<iframe class="drawn" title="Trajectories" loading="lazy" srcdoc="{inside}"></iframe>'
