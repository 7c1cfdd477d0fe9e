"""Where nets break: accuracy by size, of the shipped generalist and of the one that it replaced.

Sizes up to 64 of the shipped net are those of the page (`algorist/weights/curves.csv`). Larger ones
and the replaced net are in `results/sizes/sizes.csv`, in the same form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from algorist.report import curves
from algorist.report.curves import Point

ROOT = Path(__file__).parents[2]
MORE = ROOT / "results" / "sizes" / "sizes.csv"
PICTURE = ROOT / "docs" / "figures" / "sizes.svg"
NETS = {"generalist": "shipped", "replaced": "replaced"}
SIZES = (16, 24, 32, 48, 64, 96, 128)
_COLUMNS = 5
_WIDTH, _HEIGHT, _GAP, _TITLE = 140, 58, 30, 16
_STYLES = {"score": "", "correct": "4 2", "hints": "1 2"}
"""The measures, and how their lines are dashed."""
_MEASURES = {"score": "score", "correct": "correct", "hints": "hints"}
_COLOURS = {"generalist": "#0072B2", "replaced": "#D55E00"}


def points() -> list[Point]:
    """All that was measured."""
    return [p for p in (*curves.read(), *curves.read(MORE)) if p.model in NETS and p.n in SIZES]


def table() -> str:
    """Two lines for each algorithm: the shipped net and the replaced one."""
    known = points()
    names = sorted({p.algorithm for p in known})
    lines = [
        f"| algorithm | net | {' | '.join(f'n = {n}' for n in SIZES)} |",
        f"| --- | --- | {' | '.join('---:' for _ in SIZES)} |",
    ]
    for name in names:
        for model, words in NETS.items():
            own = {p.n: p for p in curves.curve(known, model, name)}
            cells = (_cell(own.get(n)) for n in SIZES)
            lines.append(
                f"| {name if words == 'shipped' else ''} | {words} | {' | '.join(cells)} |"
            )
    return "\n".join(lines)


def _cell(point: Point | None) -> str:
    if point is None:
        return "–"
    return ", ".join(
        "–" if math.isnan(value) else f"{value:.1f}".removesuffix(".0")
        for value in (point.score, point.correct, point.hints)
    )


def picture(title: str = "Accuracy by size of the problems") -> str:
    """A small plot for each algorithm, as an SVG file."""
    known = points()
    names = sorted({p.algorithm for p in known})
    rows = math.ceil(len(names) / _COLUMNS)
    width = _COLUMNS * (_WIDTH + _GAP) + _GAP + 10
    height = rows * (_HEIGHT + _TITLE + _GAP) + 40
    shapes = [_legend()]
    for place, name in enumerate(names):
        row, column = divmod(place, _COLUMNS)
        x = _GAP + 10 + column * (_WIDTH + _GAP)
        y = 34 + row * (_HEIGHT + _TITLE + _GAP)
        shapes.append(f'<g transform="translate({x} {y})">{"".join(_plot(known, name))}</g>')
    style = "text{font:10px system-ui,sans-serif;fill:#16202b}path{fill:none;stroke-width:1.6}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img">\n<title>{escape(title)}</title>\n<style>{style}</style>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _plot(known: Sequence[Point], name: str) -> Iterator[str]:
    """Axes and lines of one algorithm."""
    yield f'<text x="0" y="10">{escape(name)}</text>'
    for share in (0, 50, 100):
        y = _y(share)
        yield f'<path d="M0,{y:.1f}H{_WIDTH}" stroke="#e3e6ea" style="stroke-width:.8"/>'
    yield f'<text x="-3" y="{_y(100) + 3:.0f}" text-anchor="end">100</text>'
    yield f'<text x="-3" y="{_y(0) + 3:.0f}" text-anchor="end">0</text>'
    for n in (16, 64, 128):
        yield (f'<text x="{_x(n):.0f}" y="{_TITLE + _HEIGHT + 11}" text-anchor="middle">{n}</text>')
    for model in reversed(NETS):
        own = curves.curve(known, model, name)
        for measure, dashes in reversed(_STYLES.items()):
            values = [(p.n, getattr(p, measure)) for p in own]
            at = [f"{_x(n):.1f},{_y(v):.1f}" for n, v in values if not math.isnan(v)]
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            yield f'<path d="M{"L".join(at)}" stroke="{_COLOURS[model]}"{dashed}/>'


def _x(n: int) -> float:
    """Doubled sizes are equally far apart."""
    return _WIDTH * math.log2(n / SIZES[0]) / math.log2(SIZES[-1] / SIZES[0])


def _y(share: float) -> float:
    return _TITLE + _HEIGHT * (1 - share / 100)


def _legend() -> str:
    shapes, x = [], _GAP + 10
    for model, words in NETS.items():
        for measure, dashes in _STYLES.items():
            dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
            shapes.append(f'<path d="M{x},14H{x + 24}" stroke="{_COLOURS[model]}"{dashed}/>')
            text = f"{words}, {_MEASURES[measure]}"
            shapes.append(f'<text x="{x + 29}" y="18">{text}</text>')
            x += 140
    return "".join(shapes)
