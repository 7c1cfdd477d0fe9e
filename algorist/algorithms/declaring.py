"""One algorithm, one declaration.

    @algorithm(
        "sorting",
        inputs={"key": node.scalar},
        hints={"pred_h": node.pointer, "i": node.mask_one},
        outputs={"pred": node.pointer},
        sampler=keys,
    )
    def my_sort(key, pred_h, i, pred, trace):
        ...

The function's parameters are the features it touches, by name, in any order, and `trace` last;
a trailing underscore keeps a name off Python's own (`return_`). It mutates the hints as it goes and
calls `record(trace)` where a step ends, the first time before the first move.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms.compiling import is_kept, specialise
from algorist.algorithms.format_answers import Answer
from algorist.algorithms.frames import MAX_NODES, Buffers, FrameLayout
from algorist.algorithms.random import generator
from algorist.algorithms.sampling import TRUNCATION, Options, Sampler, derive, truncated
from algorist.algorithms.tracing import run_batch
from algorist.algorithms.user_inputs.graph_checks import Check
from algorist.algorithms.user_inputs.problems import Arrays, read_problem
from algorist.algorithms.user_inputs.ranking import Ranking
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.algorithms.user_inputs.separating import Separation
from algorist.algorithms.value_checks import check_values
from algorist.batch import Batch
from algorist.errors import expect_positive, format_count, unknown
from algorist.machine import memory
from algorist.plugin_errors import user_error
from algorist.spec import Feature, Kind, Location, Spec, Stage, Type

if TYPE_CHECKING:
    from algorist.algorithms.explanations import Explanation


CLRS30, SALSA = "clrs30", "salsa"
"""The benchmarks that algorithms are part of."""


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A classical algorithm: what it shows, how its problems are drawn, how it runs."""

    name: str
    family: str
    spec: Spec
    run: Callable = field(repr=False)
    sampler: Sampler = field(repr=False)
    accepts: Callable[[Arrays, Arrays], bool] | None = field(default=None, repr=False)
    """Whether outputs are a right answer to inputs, both of one sample, where several can be right.

    It is asked only about outputs that fit the spec. None: only what the run itself finds is right.
    """
    answer: Answer | None = field(default=None, repr=False)
    """The answer in the form that people expect; None: what follows from the kinds of outputs."""
    scale: Scale | None = field(default=None, repr=False)
    """How inputs of any size are brought into the range that the sampler draws from."""
    rank: Ranking | None = field(default=None, repr=False)
    """Replaces inputs that are only compared by evenly spaced ranks, for users' own problems."""
    separate: Separation | None = field(default=None, repr=False)
    """Breaks ties between numbers that are not only compared, for users' own problems."""
    requires: tuple[Check, ...] = field(default=(), repr=False)
    """What a user's own inputs must satisfy beyond their shapes."""
    adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = field(default=None, repr=False)
    """Turns other forms in which users hold the inputs into the spec's."""
    min_nodes: int = 1
    """The fewest nodes on which the algorithm makes sense."""
    stretch: float = 1.0
    """The benchmark's sizes are multiplied by this for the algorithm (string matchers: 1.25)."""
    eval_multiplier: int = 1
    """The evaluation sets are this many times larger, where one sample holds few answers."""
    train_options: Mapping[str, Any] = field(default_factory=dict)
    """Sampler options that vary the training data (the paper's augmentation)."""
    static_hint: str | None = None
    """The hint that never changes, which the paper turns into an input."""
    benchmarks: tuple[str, ...] = (CLRS30,)
    """Under which benchmarks it is listed; those of users stand with CLRS-30's."""
    sparse: bool = False
    """Whether it reads `A` by slots (`neighbours.py`), so that it runs on sparse graphs too."""
    explanation: Explanation | None = field(default=None, repr=False)
    """Pseudocode, sentences and roles for the page of `algorist view`; optional for plug-ins."""
    _tape_lengths: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if Feature("pos", Stage.INPUT, Location.NODE, Kind.SCALAR) not in self.spec.inputs:
            raise ValueError(f"algorithm {self.name}: its inputs lack 'pos': node.scalar")
        if "adj" in self.spec and "A" not in self.spec:
            raise ValueError(
                f"algorithm {self.name}: its inputs lack 'A': edge.scalar, from which 'adj' follows"
            )
        if not self.spec.outputs:
            raise ValueError(f"algorithm {self.name}: got no outputs, expected at least one")
        parameters = list(inspect.signature(self.run).parameters)
        if parameters[-1:] != ["trace"]:
            raise ValueError(
                f"algorithm {self.name}: got the parameters ({', '.join(parameters)}), "
                "expected 'trace' as the last"
            )
        self._check_names()

    def _check_names(self) -> None:
        """Complain about names of what there is not."""
        spec, scale = self.spec, self.scale or Scale(groups=())
        self._expect("feature", (*self.run_features, *self.sampler.features), _names(spec))
        self._expect("hint", filter(None, [self.static_hint]), _names(spec.hints))
        self._expect("input", chain(*scale.groups), _names(spec.inputs))
        self._expect("hint or output", scale.degrees, _names((*spec.hints, *spec.outputs)))
        self._expect("option", self.train_options, self.sampler.options)

    def _expect(self, what: str, names: Iterable[str], known: Collection[str]) -> None:
        for name in names:
            if name not in known:
                raise ValueError(f"algorithm {self.name}: {unknown(what, name, known)}")

    @property
    def has_ood_problems(self) -> bool:
        """Whether the sampler can draw problems that are out of the benchmark's distribution."""
        return "ood_share" in self.sampler.options

    @property
    def description(self) -> str:
        """The first line of the algorithm's docstring."""
        return (inspect.getdoc(self.run) or "").split("\n")[0]

    def size(self, n: int) -> int:
        """The benchmark's size for this algorithm where others have `n`."""
        return int(n * self.stretch)

    def sample(
        self, n: int, count: int, seed: int | list[int], options: Mapping[str, Any] | None = None
    ) -> Batch:
        """Draw `count` problems of size `n` and trace them.

        The draws are those of `numpy.random.RandomState(seed)`, one problem after the other, as the
        benchmark makes them.
        """
        return self.draw(generator(seed), n, count, options)

    def draw(
        self, rng: np.ndarray, n: int, count: int, options: Mapping[str, Any] | None = None
    ) -> Batch:
        """Draw and trace `count` problems with a `generator`, which the next call goes on with."""
        options, layout = self._prepare(n, count, options or {})
        now, inputs = layout.empty(), layout.empty(count)
        windows = tuple(layout.window(now, name) for name in self.sampler.features)
        arguments = self.sampler.arguments(options)
        with self._explain_errors(self.sampler.draw):
            self.sampler.draw_batch(rng, (tuple(now), tuple(inputs)), windows, arguments)
        if options[TRUNCATION]:
            inputs.floats[...] = truncated(inputs.floats, options[TRUNCATION])
        derive(layout, inputs)
        return self._run(layout, inputs)

    def check(self, n: int, count: int, options: Mapping[str, Any]) -> None:
        """Complain about problems that cannot be drawn, before any is."""
        self._prepare(n, count, options)

    def _prepare(
        self, n: int, count: int, options: Mapping[str, Any]
    ) -> tuple[Options, FrameLayout]:
        """Check and complete the options, and lay out the inputs of problems to be drawn."""
        n, count = expect_positive("n", n), expect_positive("count", count)
        settled = self.sampler.settled(n, options)
        return settled, self._input_layout(self.sampler.nodes(n, settled), count)

    def trace(self, **inputs: Any) -> Batch:
        """Run the algorithm on your own problem and return the whole trajectory, a batch of one.

        The arguments are the spec's inputs. `pos` and `adj` may be left out; a graph `A` may be in
        any form that `learner.run` takes, with `weight` and `directed` beside it; a `mask_one` may
        be the node's index, or its name in the graph.
        """
        return self.trace_arrays(read_problem(self, inputs).arrays)

    def trace_arrays(self, arrays: Arrays) -> Batch:
        """The trajectory on the inputs of a problem that `read_problem` checked."""
        layout = self._input_layout(len(arrays["pos"]))
        buffers = layout.empty(1)
        layout.pack(arrays, buffers)
        return self._run(layout, buffers)

    def _input_layout(self, nodes: int, count: int = 1) -> FrameLayout:
        if not self.min_nodes <= nodes <= MAX_NODES:
            raise ValueError(
                f"{self.name}: got a problem of {format_count(nodes, 'node')}, "
                f"expected {self.min_nodes} to {MAX_NODES}"
            )
        layout = FrameLayout(self.spec.inputs, nodes)
        if not layout.fits(1 + count):
            raise ValueError(_too_large(self.name, nodes, count, "inputs"))
        return layout

    def _run(self, layout: FrameLayout, inputs: Buffers) -> Batch:
        """Run the algorithm on all problems, and return inputs, hints and outputs."""
        self._check(layout, inputs)
        n, count = layout.n, len(inputs.floats)
        hint_layout, output_layout = (
            FrameLayout(self.spec.hints, n),
            FrameLayout(self.spec.outputs, n),
        )
        now, hint, output = layout.empty(), hint_layout.empty(), output_layout.empty()
        outputs = output_layout.empty(count)
        lengths = np.zeros(count, np.int64)
        windows = self._windows((layout, now), (hint_layout, hint), (output_layout, output))
        while True:  # a tape that turns out too short is made as long as the runs were
            steps = self._tape_lengths.get(n, 2 * n)
            if not hint_layout.fits(steps * count):
                steps = 0  # perhaps the runs are shorter: count their steps first
            tape = hint_layout.empty(steps, count)
            with self._explain_errors(self.run):
                self._run_batch(
                    (tuple(now), tuple(inputs)),
                    (tuple(hint), tuple(tape)),
                    (tuple(output), tuple(outputs)),
                    windows,
                    lengths,
                )
            needed = int(lengths.max())
            if needed <= steps:
                break
            if not hint_layout.fits(needed * count):
                raise ValueError(_too_large(self.name, n, count, f"{needed} steps"))
            self._tape_lengths[n] = needed
        if not lengths.all():
            raise ValueError(
                f"{self.name}: got no step, expected record(trace) to be called at least once"
            )
        tape = Buffers(*(bank[:needed] for bank in tape))
        self._check(hint_layout, tape)
        self._check(output_layout, outputs)
        valid = np.arange(needed)[:, None] < lengths
        return Batch(
            self.spec,
            layout.unpack(inputs),
            hint_layout.unpack(tape, valid),
            output_layout.unpack(outputs),
            lengths,
            self.name,
        )

    def _explain_errors(self, function: Callable) -> AbstractContextManager[None]:
        """Turn errors in a user's function into a `ValueError` of one line; ours are tested."""
        return nullcontext() if self.is_part_of_the_package else user_error(self.name, function)

    def _check(self, layout: FrameLayout, buffers: Buffers) -> None:
        """Complain about values that make no sense, in an algorithm of a user's own."""
        if not self.is_part_of_the_package:
            check_values(self.name, layout, buffers)

    def _windows(self, *frames: tuple[FrameLayout, Buffers]) -> tuple[np.ndarray, ...]:
        stages = {feature.name: frame for frame in frames for feature in frame[0].features}
        return tuple(
            layout.window(buffers, name)
            for name in self.run_features
            for layout, buffers in (stages[name],)
        )

    @cached_property
    def run_features(self) -> tuple[str, ...]:
        """The features that the run names as its parameters."""
        return tuple(name.rstrip("_") for name in inspect.signature(self.run).parameters)[:-1]

    @property
    def is_part_of_the_package(self) -> bool:
        """Whether it is one of the benchmark's, and no other that has its name."""
        module = self.run.__module__
        ours = module.startswith("algorist.algorithms.")
        return ours and getattr(sys.modules[module], self.name, None) is self

    @property
    def is_compiled(self) -> bool:
        """Whether there is machine code, in memory or on disk, so that a sample comes at once."""
        return is_kept(self._run_batch) and is_kept(self.sampler.draw_batch)

    @cached_property
    def _run_batch(self) -> Any:
        return specialise(run_batch, self.run)


def _too_large(name: str, nodes: int, count: int, what: str) -> str:
    return (
        f"{name}: got {count} x {nodes} nodes, whose {what} do not fit into "
        f"{memory() / 1e9:.0f} GB of memory, expected smaller or fewer problems"
    )


def _names(features: Iterable[Feature]) -> list[str]:
    return [feature.name for feature in features]


def algorithm(
    family: str,
    *,
    inputs: Mapping[str, Type],
    hints: Mapping[str, Type],
    outputs: Mapping[str, Type],
    sampler: Sampler,
    **rest: Any,
) -> Callable[[Callable], Algorithm]:
    """Declare the decorated function an algorithm; `rest` are further fields of `Algorithm`."""
    spec = Spec.of(inputs=inputs, hints=hints, outputs=outputs)
    return lambda run: Algorithm(run.__name__, family, spec, run, sampler, **rest)
