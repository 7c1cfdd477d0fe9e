"""Pictures as files of their own: all steps and the legend in one SVG, on white paper.

The shapes and the style sheet are the site's. Variables of the style are written out, since
programs that show SVG files often know none.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pictures

_GAP, _LINE, _LABEL = 18.0, 17.0, 12.0
_STYLE_SHEET = Path(__file__).parents[1] / "style.css"
_RULE = re.compile(r"^\.trace ((?:text|path|\.(?!steps|legend))[^{]*)\{(.*)\}$", re.MULTILINE)
_SITE = {  # what the theme of the site defines
    "--md-default-fg-color--light": "#5a6470",
    "--md-default-bg-color": "#fff",
    "--md-text-font-family": "system-ui, sans-serif",
}


def svg(name: str) -> str:
    """The picture of an algorithm as a whole file."""
    panels = pictures.panels(name)
    width, height = (max(_size(panel)[axis] for panel in panels) for axis in (0, 1))
    columns = len(panels) if len(panels) <= 4 else 3
    shapes = []
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        middle = _GAP + column * (width + _GAP) + width / 2
        shapes.append(_put(panel, middle, _GAP + row * (height + _LINE + _GAP) + height))
    top = _GAP + -(-len(panels) // columns) * (height + _LINE + _GAP)
    legend = _legend(name, top)
    whole = (columns * (width + _GAP) + _GAP, top + len(legend) * _LINE + 4)
    return _document(pictures.description(name), *whole, "\n".join([*shapes, *legend]))


def _size(panel: pictures.Panel) -> tuple[int, int]:
    width, height = re.findall(r' (?:width|height)="(\d+)"', panel.svg)[:2]
    return int(width), int(height)


def _put(panel: pictures.Panel, middle: float, bottom: float) -> str:
    """A panel above its caption."""
    width, height = _size(panel)
    corner = f'x="{middle - width / 2:.0f}" y="{bottom - height:.0f}"'
    drawing = panel.svg.replace("<svg ", f"<svg {corner} ", 1)
    return f"{drawing}\n{_text(middle, bottom + _LABEL, panel.caption)}"


def _legend(name: str, top: float) -> list[str]:
    """A line for each colour, and one for the note."""
    lines = []
    for line, (style, means) in enumerate(pictures.legend(name)):
        y = top + line * _LINE
        square = f'<rect x="{_GAP:.0f}" y="{y:.0f}" width="10" height="10" class="{style}"/>'
        text = _text(_GAP + (16 if style else 0), y + 9, means, "start")
        lines.append((square if style else "") + text)
    return lines


def _document(title: str, width: float, height: float, shapes: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" color="#16202b">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_style()}\n</style>\n"
        f'<rect width="100%" height="100%" fill="#fff"/>\n{shapes}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    style = f'style="font-size: 12px; text-anchor: {anchor}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{escape(text)}</text>'


def _style() -> str:
    """The rules of the style sheet that are about shapes, with the colours of the light theme."""
    sheet = _STYLE_SHEET.read_text(encoding="utf-8")
    light = dict(reversed(re.findall(r"(--trace-[\w-]+): (#\w+);", sheet)))
    values = light | _SITE
    rules = (f"{selector}{{{body}}}" for selector, body in _RULE.findall(sheet))
    text = re.sub(r" background: [^;]+;", "", "\n".join(rules))
    return re.sub(r"var\((--[\w-]+)[^)]*\)", lambda variable: values[variable[1]], text)
