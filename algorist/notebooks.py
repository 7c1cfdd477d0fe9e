"""How objects show themselves in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from algorist.batch import Batch

_MOST_STEPS, _MOST_NUMBERS = 24, 64


def batch_table(batch: Batch) -> str:
    """The first sample of a batch: its inputs and outputs, and its hints step by step."""
    batch = batch.numpy()
    length = int(batch.lengths[0])
    shown = min(length, _MOST_STEPS)
    inputs = {name: array[0] for name, array in batch.inputs.items()}
    outputs = {name: array[0] for name, array in batch.outputs.items()}
    steps = [
        [str(step), *(_cell(array[step, 0]) for array in batch.hints.values())]
        for step in range(shown)
    ]
    rest = f"<p>{length - shown} more steps</p>" if shown < length else ""
    return (
        f"<p><b>{escape(repr(batch))}</b>, the first sample:</p>"
        + table(["input", "value"], [[name, _cell(x)] for name, x in inputs.items()])
        + (table(["step", *batch.hints], steps) if steps and batch.hints else "")
        + rest
        + table(["output", "value"], [[name, _cell(x)] for name, x in outputs.items()])
    )


def _cell(value: Any) -> str:
    array = np.asarray(value)
    if array.size > _MOST_NUMBERS:
        return f"{' × '.join(map(str, array.shape))} numbers"
    text = np.array2string(array, precision=2, suppress_small=True, max_line_width=10**6)
    return text.replace("\n", "; ").replace("; [", "; ").strip("[]").replace("]", "")


def table(head: list[str], rows: list[list[str]]) -> str:
    """An HTML table of texts."""

    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{row(head, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"
