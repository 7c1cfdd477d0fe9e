"""The diagram of the packages below `algorist`, with what they import from each other.

Run it to draw the diagram of docs/architecture.md; a test compares both.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "algorist"
DIAGRAM = ROOT / "docs" / "figures" / "packages.svg"

_WIDTH, _HEIGHT = 270, 72
"""Of a box, in pixels."""
_STRIDE_X, _STRIDE_Y = _WIDTH + 40, _HEIGHT + 30
_STYLE = """\
text { font: 12px sans-serif; fill: #333 } .name { font-weight: bold; font-size: 14px }
rect { fill: #f4f6fa; stroke: #8a94a6 } path { fill: none; stroke: #5b6675; stroke-width: 1.5 }
"""


def package_of(file: Path) -> str:
    """The folder or module right below the package that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_packages(file: Path) -> Iterator[str]:
    """The packages that a file imports, inside functions too, but not for type checkers alone."""
    for name in _modules(file):
        package, *rest = name.split(".")
        if package == "algorist":
            yield rest[0] if rest and _is_package(rest[0]) else "__init__"


def _modules(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{file}: got a relative import, expected an absolute one")
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _is_package(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def packages() -> list[str]:
    """The names of all packages."""
    return sorted(init.parent.name for init in PACKAGE.glob("*/__init__.py"))


@cache
def edges() -> frozenset[tuple[str, str]]:
    """Which folder imports which other one directly."""
    known = set(packages())
    return frozenset(
        (package_of(file), other)
        for file in PACKAGE.rglob("*.py")
        for other in imported_packages(file)
        if package_of(file) != other and {package_of(file), other} <= known
    )


def levels() -> list[list[str]]:
    """The folders from the base upwards: each stands above all that it imports."""
    imports, placed, rows = edges(), set[str](), list[list[str]]()
    while rest := [name for name in packages() if name not in placed]:
        row = [name for name in rest if {o for n, o in imports if n == name} <= placed]
        if not row:
            raise ValueError(f"packages: got imports in a circle among {', '.join(rest)}")
        placed |= set(row)
        rows.append(row)
    return rows


def transitive_reduction() -> list[tuple[str, str]]:
    """The imports without those that follow from others."""
    above: dict[str, set[str]] = {}
    for name in (name for row in levels() for name in row):
        direct = {other for one, other in edges() if one == name}
        above[name] = direct.union(*(above[other] for other in direct))
    return sorted(
        (one, other)
        for one, other in edges()
        if not any(other in above[between] for first, between in edges() if first == one)
    )


def diagram() -> str:
    """The SVG: the base at the bottom, and an arrow from each package to those that use it."""
    rows = levels()
    places = {
        name: (column * _STRIDE_X + 10, (len(rows) - 1 - row) * _STRIDE_Y + 10)
        for row, names in enumerate(rows)
        for column, name in enumerate(names)
    }
    width = max(map(len, rows)) * _STRIDE_X
    height = len(rows) * _STRIDE_Y
    arrows = [_arrow(places[used], places[user]) for user, used in transitive_reduction()]
    boxes = [_box(name, *place) for name, place in places.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>The packages of algorist, and which of them use which</title>",
            f"<style>\n{_STYLE}</style>",
            '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
            ' orient="auto"><path d="M0,0L8,4L0,8z" style="fill:#5b6675"/></marker>',
            f'<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>',
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def _box(name: str, x: int, y: int) -> str:
    """A package: its name, and the first sentence of its docstring."""
    tree = ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))
    paragraph = (ast.get_docstring(tree) or "").split("\n\n")[0]
    sentence = paragraph.replace("`", "").removesuffix(".")
    lines = textwrap.wrap(sentence, 36, max_lines=3, placeholder=" …")
    texts = [
        (20, name, ' class="name"'),
        *((36 + 15 * i, line, "") for i, line in enumerate(lines)),
    ]
    return f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4"/>' + "".join(
        f'<text x="{x + 10}" y="{y + down}"{style}>{escape(text)}</text>'
        for down, text, style in texts
    )


def _arrow(used: tuple[int, int], user: tuple[int, int]) -> str:
    """Straight up to the next row; else up beside the boxes between, and into one from its side."""
    (x, y), (to_x, to_y) = used, user
    middle, target = x + _WIDTH // 2, to_y + _HEIGHT // 2
    if x == to_x and y - to_y == _STRIDE_Y:
        path = f"M{middle},{y}V{to_y + _HEIGHT}"
    elif x > to_x:
        path = f"M{middle},{y}V{target}H{to_x + _WIDTH}"
    elif x < to_x:
        path = f"M{x + _WIDTH},{y + _HEIGHT // 2}H{to_x + _WIDTH // 2}V{to_y + _HEIGHT}"
    else:
        side = x + _WIDTH
        path = f"M{side},{y + 10}C{side + 40},{y} {side + 40},{target} {side},{target}"
    return f'<path d="{path}" marker-end="url(#head)"/>'


if __name__ == "__main__":
    DIAGRAM.write_text(diagram(), encoding="utf-8")
