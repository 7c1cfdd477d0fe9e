"""What the page asks for, as plain data: which algorithms and nets there are, a problem solved."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from algorist.algorithms import Algorithm, get
from algorist.algorithms.user_inputs.problems import count_nodes, read_problem
from algorist.errors import format_count, shorten, unknown
from algorist.model.learner import Learner
from algorist.model.solving.solver import solve
from algorist.problems import forms
from algorist.problems.form_texts import form_texts
from algorist.report.curves import read as read_curves
from algorist.viewer.draws import draw_interesting
from algorist.viewer.first_problems import first_problem
from algorist.viewer.nets import NetChoice, Nets
from algorist.viewer.previews import previews
from algorist.viewer.traces import trace

MOST_NODES = 64
"""Pictures of more are hard to read, and nets take long for them."""
MOST_VALUES = 2_000_000
"""The most values of all hints at all steps: a browser has to hold and draw them."""
MOST_STEPS = 1000
"""The most steps of a problem: nets need seconds for more on a CPU, and nobody watches them."""
MOST_BYTES = 128 * 1024
"""The most bytes of a request."""
_PATIENCE = 60.0
"""Seconds in which the last computation should end."""
FIRST = {"algorithm": "dijkstra", "random": {"n": 9, "seed": 4}}
"""What the page begins with, unless somebody says what else."""

Inputs = Mapping[str, Any]
Progress = Callable[[dict[str, Any]], None]
"""Is told how far a computation is; what it raises ends it."""
_HEARTBEAT = 0.5
"""Seconds after which one that waits for another is told so again."""


class ProblemError(ValueError):
    """A problem that cannot be solved, and at which field of the form to say so."""

    def __init__(self, message: str, field: str | None, text: str):
        super().__init__(message)
        self.field, self.text = field, text


class App:
    """Nets, and all that the page may do with them; what makes no sense is a `ValueError`.

    The page begins with `model`, whose `learners` say which algorithms there are; `others` can be
    chosen instead of it, or beside it.
    """

    def __init__(
        self,
        learners: Mapping[str, Learner],
        model: str,
        others: Sequence[NetChoice] = (),
        version: str = "",
    ):
        self._names, self._version = frozenset(learners), version
        self._nets = Nets([NetChoice.of(model, learners), *others], read_curves())
        self._first: Mapping[str, Any] = FIRST
        self._given = ""
        self._one_at_a_time = threading.Lock()

    def end(self) -> None:
        """Wait for what is being computed, and compute nothing more: the process is to end."""
        self._one_at_a_time.acquire(timeout=_PATIENCE)

    def begin_with(self, asked: Mapping[str, Any]) -> None:
        """Let the page begin with an algorithm, and with a problem of it if there is one."""
        first = {**FIRST, **asked}
        size = len(json.dumps(first))
        if size > MOST_BYTES:
            raise ValueError(f"the problem: got {size:,} bytes, expected at most {MOST_BYTES:,}")
        self.solve(first)
        named = [name for name in ("fields", "random") if name in asked]
        self._first, self._given = first, named[0] if named else "algorithm"

    def algorithms(self) -> dict[str, Any]:
        """What the default net knows, by family, and the form of each; and what to begin with."""
        known = sorted(map(get, self._names), key=lambda a: (a.family, a.name))
        return {
            "model": self._nets.default.name,
            "nets": self._nets.described(),
            "version": self._version,
            "most_nodes": MOST_NODES,
            "most_steps": MOST_STEPS,
            "first": self._first,
            "given": self._given,
            "algorithms": [
                {
                    "name": algorithm.name,
                    "family": algorithm.family,
                    "description": algorithm.description,
                    "fields": [asdict(field) for field in forms.fields(algorithm)],
                    "first": first_problem(algorithm),
                }
                for algorithm in known
            ],
        }

    def previews(self) -> dict[str, Any]:
        """Short runs of the algorithms that the default net knows, for the gallery."""
        return {name: run for name, run in previews().items() if name in self._names}

    def solve(self, asked: Any, progress: Progress | None = None) -> dict[str, Any]:
        """The trace of a problem: `algorithm`, and `fields` or else `random` with n and seed.

        `net` and `beside` name nets, of which the second is shown instead of the algorithm; at the
        steps `truth` the nets are given the true hints. What is wrong with the problem itself is a
        `ProblemError`.
        """
        if not isinstance(asked, Mapping):
            raise ValueError(f"got {shorten(asked)}, expected an object")
        name = asked.get("algorithm")
        if not isinstance(name, str) or name not in self._names:
            raise ValueError(unknown("algorithm", shorten(name).strip("'"), self._names))
        algorithm, truth = get(name), _steps(asked.get("truth", []))
        nets = [self._nets.named(asked.get("net"), name)]
        if asked.get("beside") is not None:
            nets.append(self._nets.named(asked["beside"], name))
        with self._located(algorithm, drawn="fields" not in asked):
            problem, fields = self._problem(algorithm, asked)
            traces = [
                self.trace(
                    algorithm,
                    problem,
                    net,
                    truth=truth,
                    most_steps=MOST_STEPS,
                    progress=_share(progress, place, len(nets)),
                )
                for place, net in enumerate(nets)
            ]
        beside = {"beside": traces[1]} if len(traces) > 1 else {}
        return {**traces[0], **fields, **beside}

    @contextmanager
    def _located(self, algorithm: Algorithm, *, drawn: bool) -> Iterator[None]:
        """Say of what is wrong with a problem at which field it is: of a drawn one at its size."""
        try:
            yield
        except ProblemError:
            raise
        except ValueError as error:
            message = str(error)
            if drawn:
                name, colon, text = message.partition(": ")
                field = "seed" if name.endswith("seed") else "n"
                raise ProblemError(message, field, text if colon else message) from error
            raise ProblemError(message, *forms.locate_error(algorithm, message)) from error

    def _problem(self, algorithm: Algorithm, asked: Inputs) -> tuple[Inputs, dict[str, Any]]:
        """The problem, and the fields that give it if it is a random one."""
        if "fields" in asked:
            return forms.read(algorithm, _texts(asked["fields"])), {}
        n, seed = _draw(asked.get("random"))
        problem = draw_interesting(algorithm, n, seed)
        if _count_steps(algorithm, problem) > MOST_STEPS:
            raise self._too_long(algorithm, n, seed)
        return problem, {"fields": form_texts(algorithm, problem)}

    def _too_long(self, algorithm: Algorithm, n: int, seed: int) -> ProblemError:
        """The error that names the largest random problem that is short enough."""
        most = next(
            (
                k
                for k in range(n - 1, 0, -1)
                if _count_steps(algorithm, draw_interesting(algorithm, k, seed)) <= MOST_STEPS
            ),
            1,
        )
        text = f"got {n}, expected at most {most}: more take over {MOST_STEPS:,} steps"
        return ProblemError(f"n: {text}", "n", text)

    def trace(
        self,
        algorithm: Algorithm,
        problem: Inputs,
        net: str | None = None,
        *,
        truth: Collection[int] = (),
        most_steps: int | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The trace of a problem, if it is not too large to be shown."""
        name = self._nets.named(net, algorithm.name)
        with self._turn(progress):
            check_size(algorithm, problem, most_steps)
            solution = solve(
                self._nets.learner(name, algorithm.name),
                algorithm.name,
                problem,
                compare=True,
                forced=truth,
                on_progress=None if progress is None else partial(_tell, progress),
            )
        made = {
            "net": name,
            "score": self._nets.score(name, algorithm.name),
            "version": self._version,
        }
        return {**trace(algorithm, solution), "truth": sorted(truth), "made": made}

    @contextmanager
    def _turn(self, progress: Progress | None) -> Iterator[None]:
        """Compute one thing at a time; one that waits for another is told so now and then."""
        while not self._one_at_a_time.acquire(timeout=-1 if progress is None else _HEARTBEAT):
            assert progress is not None
            progress({"waiting": True})
        try:
            yield
        finally:
            self._one_at_a_time.release()


def _tell(progress: Progress, done: int, steps: int) -> None:
    progress({"step": done, "steps": steps})


def _share(progress: Progress | None, place: int, count: int) -> Progress | None:
    """The progress of one of several computations that follow each other, as that of all."""
    if progress is None or count == 1:
        return progress

    def report(done: dict[str, Any]) -> None:
        if "step" not in done:
            return progress(done)
        steps = done["steps"]
        return progress({"step": place * steps + done["step"], "steps": count * steps})

    return report


def check_size(algorithm: Algorithm, problem: Inputs, most_steps: int | None = None) -> int:
    """Refuse what is too large to be shown, before a net computes it; return how many steps."""
    _check_nodes(algorithm.name, count_nodes(algorithm, problem))
    arrays = read_problem(algorithm, problem).arrays
    _check_nodes(algorithm.name, len(arrays["pos"]))
    traced = algorithm.trace_arrays(arrays)
    steps, values = int(traced.lengths[0]), sum(array.size for array in traced.hints.values())
    if values > MOST_VALUES:
        raise ValueError(
            f"{algorithm.name}: got {steps:,} steps with {values:,} values in all, "
            f"expected at most {MOST_VALUES:,}: try a smaller problem"
        )
    if most_steps is not None and steps > most_steps:
        raise ValueError(
            f"{algorithm.name}: got {format_count(steps, 'step')}, expected at most {most_steps:,} "
            "to be shown: try a smaller problem"
        )
    return steps


def _count_steps(algorithm: Algorithm, problem: Inputs) -> int:
    return int(algorithm.trace_arrays(read_problem(algorithm, problem).arrays).lengths[0])


def _check_nodes(what: str, nodes: int) -> None:
    if nodes > MOST_NODES:
        raise ValueError(f"{what}: got {nodes:,} nodes, expected at most {MOST_NODES} to be shown")


def _texts(fields: Any) -> dict[str, str]:
    if not isinstance(fields, Mapping) or not all(
        isinstance(text, str) for pair in fields.items() for text in pair
    ):
        raise ValueError(f"fields: got {shorten(fields)}, expected texts by name")
    return dict(fields)


def _steps(truth: Any) -> list[int]:
    """The steps at which the truth is to be given."""
    if not isinstance(truth, list) or not all(type(step) is int and step >= 0 for step in truth):
        raise ValueError(f"truth: got {shorten(truth)}, expected a list of steps")
    return sorted(set(truth))


def _draw(random: Any) -> tuple[int, int]:
    """The size and the seed of a random problem."""
    if not isinstance(random, Mapping):
        raise ValueError(f"random: got {shorten(random)}, expected n and seed")
    n, seed = random.get("n"), random.get("seed", 0)
    if type(n) is not int or not 1 <= n <= MOST_NODES:
        raise ValueError(f"n: got {shorten(n)}, expected a whole number from 1 to {MOST_NODES}")
    if type(seed) is not int or not 0 <= seed < 2**32:
        raise ValueError(f"seed: got {shorten(seed)}, expected a whole number from 0 to 2**32-1")
    return n, seed
