"""What a browser says about the text of a page; `auditing.js` does the work."""

from pathlib import Path

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8").rstrip().rstrip(";")


def texts(page):
    """Every text that can be seen: what it is, where, its size in pixels, and its contrast."""
    return page.evaluate(f"{_SCRIPT}.texts()")


def overlaps(page):
    """The labels of pictures that cover each other, a node or an arrow's head, or are cut off."""
    return page.evaluate(f"{_SCRIPT}.overlaps()")
