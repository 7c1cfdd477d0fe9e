"""CLRS-Text: problems and their answers as text, for language models.

The strings are those of dm-clrs 2.0.3 (`clrs_text`), and the keys of its generator for Hugging
Face. A question names the inputs; with hints it also shows the first step of what the algorithm
computes, and the answer shows the other steps before the result.

    >>> from algorist.data import text
    >>> example = next(text("insertion_sort", n=4, count=1, seed=0, hints=True))
    >>> print(example["text"].strip())
    insertion_sort:
    key: [0.548 0.715 0.602 0.544], initial_trace: [0.548 0.715 0.602 0.544]
    trace | pred:
    [0.548 0.715 0.602 0.544], [0.548 0.602 0.715 0.544] | [0.544 0.548 0.602 0.715]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count as counting
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm, declared
from algorist.algorithms.random import generator
from algorist.algorithms.sampling import TRUNCATION
from algorist.batch import Batch
from algorist.data.feature_text import to_text
from algorist.data.numpy_ties import break_ties_as_numpy
from algorist.errors import expect_positive
from algorist.spec import Feature, Kind

_MOST_AT_ONCE, _CELLS_AT_ONCE = 64, 2**14
"""The most problems that are drawn together, and the most pairs of nodes that they have.

So many spread the cost of a call, and fit into the caches of a processor.
"""

_WHOLE = {
    "articulation_points": "A",
    "bfs": "A",
    "bridges": "A",
    "dfs": "A",
    "task_scheduling": "d",
    "topological_sort": "A",
}
"""Scalar inputs that are written without a decimal point: dm-clrs draws them as integers."""

_TRACED = {
    "binary_search": ("low", "high"),
    "find_maximum_subarray_kadane": ("best_low", "best_high"),
    "kmp_matcher": ("s",),
    "naive_string_matcher": ("s",),
    "quickselect": ("pivot",),
}
"""The hints that are shown; those of other algorithms are named like an output, with `_h`."""
_ENDS_WITH_HINTS = ("binary_search", "find_maximum_subarray_kadane", "quickselect")
"""Algorithms whose answer with hints is the last step of these, instead of the outputs."""
_IN_PARENTHESES = ("binary_search", "find_maximum_subarray_kadane")
"""Algorithms whose steps, and answer after steps, are put in parentheses."""


def text(
    algorithm: str | Algorithm,
    *,
    n: int,
    count: int | None,
    seed: int,
    hints: bool = False,
    decimals: int | None = 3,
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """Questions and answers about random problems, one after the other, in dictionaries.

    Their keys are text (question and answer), question, answer, algo_name, length (n) and
    use_hints. `count=None` goes on without end. Inputs are cut to `decimals` places before the
    algorithm runs; None keeps all digits. Further options are those of the sampler.
    """
    algorithm = declared(algorithm)
    for name, value in {"count": count, "decimals": decimals}.items():
        if value is not None:
            expect_positive(name, value)
    if TRUNCATION in options:
        raise ValueError(f"option {TRUNCATION}: expected the argument decimals instead")
    options = {**options, TRUNCATION: decimals}
    algorithm.check(n, 1, options)
    return _examples(algorithm, int(n), count, generator(seed), hints, options)


def _examples(
    algorithm: Algorithm, n: int, count: int | None, rng: Any, hints: bool, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    form = _Form(algorithm, hints)
    size = max(1, min(_MOST_AT_ONCE, _CELLS_AT_ONCE // n**2))
    for start in counting(0, size):
        left = size if count is None else min(size, count - start)
        if left <= 0:
            return
        batch = break_ties_as_numpy(algorithm, algorithm.draw(rng, n, left, options))
        for question, answer in form.pairs(batch):
            yield {
                "text": question + answer,
                "question": question,
                "answer": answer,
                "algo_name": algorithm.name,
                "length": n,
                "use_hints": hints,
            }


class _Form:
    """The format of an algorithm's texts."""

    def __init__(self, algorithm: Algorithm, hints: bool):
        self.name, self.spec = algorithm.name, algorithm.spec
        outputs = {feature.name: feature for feature in self.spec.outputs}
        self.traced: dict[str, Feature] = {}
        """Each hint that is shown, and the feature as which its values are written."""
        if hints and self.name in _TRACED:
            self.traced = {name: self.spec[name] for name in _TRACED[self.name]}
        elif hints:
            named = {f.name: outputs.get(f.name.removesuffix("_h")) for f in self.spec.hints}
            self.traced = {name: output for name, output in named.items() if output}
        self.asked = _TRACED[self.name] if self.traced and self.name in _TRACED else tuple(outputs)

    def pairs(self, batch: Batch) -> Iterator[tuple[str, str]]:
        """The question and the answer of each sample."""
        names = self._step(self.asked)
        inputs, outputs = self._inputs(batch), self._outputs(batch)
        if not self.traced:
            for given, result in zip(inputs, outputs, strict=True):
                yield f"{self.name}:\n{given}\n{names}:\n", f"{result}\n\n"
            return
        for given, steps, result in zip(inputs, self._steps(batch), outputs, strict=True):
            if self.name in _ENDS_WITH_HINTS:
                result = steps[-1]
            question = f"{self.name}:\n{given}, initial_trace: {steps[0]}\ntrace | {names}:\n"
            yield question, f"{', '.join(steps[1:-1])} | {result}\n\n"

    def _inputs(self, batch: Batch) -> list[str]:
        columns = []
        for feature in self.spec.inputs:
            if feature.name in ("pos", "adj"):
                continue
            values = batch.inputs[feature.name]
            if _WHOLE.get(self.name) == feature.name:
                values = values.astype(np.int64)
            columns.append([f"{feature.name}: {value}" for value in to_text(feature, values)])
        return [", ".join(row) for row in zip(*columns, strict=True)]

    def _outputs(self, batch: Batch) -> list[str]:
        columns = [
            to_text(feature, batch.outputs[feature.name], self._keys(batch))
            for feature in self.spec.outputs
        ]
        return [", ".join(row) for row in zip(*columns, strict=True)]

    def _steps(self, batch: Batch) -> Iterator[list[str]]:
        """The steps of each sample."""
        taken = np.arange(batch.steps) < batch.lengths[:, None]
        keys = self._keys(batch)
        if keys is not None:
            keys = np.repeat(keys, batch.lengths, 0)
        columns = [
            to_text(feature, batch.hints[name].swapaxes(0, 1)[taken], keys)
            for name, feature in self.traced.items()
        ]
        rows = [self._step(row) for row in zip(*columns, strict=True)]
        ends = np.cumsum(batch.lengths).tolist()
        return (rows[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True))

    def _step(self, values: Iterable[str]) -> str:
        joined = ", ".join(values)
        return f"({joined})" if self.traced and self.name in _IN_PARENTHESES else joined

    def _keys(self, batch: Batch) -> np.ndarray | None:
        """What an order of nodes is written as."""
        is_given = any(f.name == "key" and f.kind == Kind.SCALAR for f in self.spec.inputs)
        return batch.inputs["key"] if is_given else None
