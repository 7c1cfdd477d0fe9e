"""Make the short runs that the gallery of `algorist view` plays, viewer/static/previews.json.

python benchmarks/previews.py
"""

from __future__ import annotations

import json

import algorist
from algorist.problems import forms
from algorist.viewer.first_problems import FIRST_PROBLEMS
from algorist.viewer.previews import FILE, preview


def main() -> None:
    """Trace all thirty and write the file."""
    found = {}
    for name, fields in FIRST_PROBLEMS.items():
        algorithm = algorist.get(name)
        found[name] = preview(algorithm, forms.read(algorithm, fields))
    text = json.dumps(found, allow_nan=False, separators=(",", ":"))
    FILE.write_text(text + "\n", encoding="utf-8")
    print(f"{len(found)} runs, {len(text):,} bytes, written to {FILE}")


if __name__ == "__main__":
    main()
