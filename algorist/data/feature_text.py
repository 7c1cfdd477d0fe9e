"""Values of features as CLRS-Text writes them: numbers, and lists of them in brackets."""

from __future__ import annotations

import numpy as np

from algorist.spec import MASKED, Feature, Kind


def to_text(feature: Feature, values: np.ndarray, keys: np.ndarray | None = None) -> list[str]:
    """The text of each of the values (m, ...) of a feature.

    A `mask_one` is the index of its node, a categorical value its class. An order of nodes is
    written as the `keys` (m, n) in that order.
    """
    if feature.kind == Kind.MASK_ONE:
        return _join(values.argmax(-1))
    if feature.kind == Kind.CATEGORICAL:
        is_masked = (values == MASKED).any(-1)
        return _join(np.where(is_masked, MASKED, values.argmax(-1)))
    if feature.kind == Kind.SHOULD_BE_PERMUTATION:
        if keys is None:
            raise ValueError(
                f"{feature.name}: got an order of nodes, which is written as their keys, "
                "expected an algorithm with the input 'key': node.scalar"
            )
        return _join(np.take_along_axis(keys, order_of(values), -1))
    return _join(values)


def order_of(predecessors: np.ndarray) -> np.ndarray:
    """The nodes in order, from pointers (m, n) to the one before; the first points to itself."""
    m, n = predecessors.shape
    order = np.zeros((m, n), np.int64)
    has_successor = np.zeros((m, n), bool)
    np.put_along_axis(has_successor, predecessors.astype(np.int64), True, -1)
    order[:, -1] = has_successor.argmin(-1)
    rows = np.arange(m)
    for i in range(n - 1, 0, -1):
        order[:, i - 1] = predecessors[rows, order[:, i]]
    return order


def _join(values: np.ndarray) -> list[str]:
    """The text of each entry along the first axis, made once for all that are alike."""
    values = np.ascontiguousarray(values)
    if values.ndim == 1:
        keys = values.view(f"i{values.itemsize}").tolist()  # tells -0.0 from 0.0
        texts = dict(zip(keys, values.tolist(), strict=True))
        for key, value in texts.items():
            texts[key] = repr(value)
    else:
        size = values.shape[1]
        keys = values.reshape(len(values), -1).view(f"V{values[0].nbytes}")[:, 0].tolist()
        first = {key: i for i, key in enumerate(keys)}
        inner = _join(values[list(first.values())].reshape(-1, *values.shape[2:]))
        comma = " " if values.ndim == 2 else ", "
        lists = (comma.join(inner[i : i + size]) for i in range(0, len(inner), size))
        texts = {key: f"[{text}]" for key, text in zip(first, lists, strict=True)}
    return [texts[key] for key in keys]
