"""What was read of a user's problem, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from algorist.errors import format_count
from algorist.spec import Spec

_THINGS = {
    ("key", "target"): "key",
    ("key",): "key",
    ("x", "y"): "point",
    ("s", "f"): "activity",
    ("d", "w"): "task",
}
"""What the nodes are, by the inputs that an algorithm has."""


def describe_inputs(spec: Spec, arrays: Mapping[str, np.ndarray]) -> str:
    """What was read, for problems without a graph: 5 keys; a text of 7 letters and a pattern of 3.

    >>> import algorist
    >>> describe_inputs(algorist.get("minimum").spec, {"pos": np.zeros(3), "key": np.zeros(3)})
    '3 keys'
    """
    names = tuple(f.name for f in spec.inputs if f.name not in ("pos", "adj"))
    n = len(arrays["pos"])
    if names == ("string", "key") or names == ("key", "string"):
        first = int((arrays["string"] == 0).sum())
        words = ("a text", "a pattern") if "match" in spec else ("a string", "another")
        return f"{words[0]} of {format_count(first, 'letter')} and {words[1]} of {n - first}"
    if names == ("p",):
        return f"{format_count(n - 1, 'matrix')}".replace("matrixs", "matrices")
    if names == ("p", "q"):
        return f"{format_count(n - 1, 'key')} and {format_count(n, 'gap')}"
    thing = format_count(n, _THINGS.get(names, "node")).replace("activitys", "activities")
    return f"{thing}, target {float(arrays['target']):g}" if names == ("key", "target") else thing
