"""Names: one word has one meaning."""

import ast
from collections import defaultdict
from pathlib import Path

import algorist

PACKAGE = Path(algorist.__file__).parent


def test_no_two_public_classes_share_a_name():
    files = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].add(str(file.relative_to(PACKAGE)))
    assert not {name: found for name, found in files.items() if len(found) > 1}
