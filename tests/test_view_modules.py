"""The modules of the page fit together, as far as can be told without a browser."""

import re
from collections import Counter
from pathlib import Path

import pytest

from algorist.viewer import pages

STATIC = Path(pages.__file__).parent / "static"
MODULES = {file.name: file.read_text() for file in sorted(STATIC.glob("*.js"))}
IMPORTS = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";$', re.MULTILINE)
DECLARED = re.compile(
    r"^(?:export )?(?:const|let|function|async function|class) (\w+)", re.MULTILINE
)
EXPORTED = re.compile(r"^export (?:const|(?:async )?function|class) (\w+)", re.MULTILINE)


def imports(text):
    """(name, module) for each name that a module imports."""
    for names, module in IMPORTS.findall(text):
        for name in filter(None, map(str.strip, names.split(","))):
            yield name, module


def test_every_module_is_joined_behind_those_that_it_imports():
    joined = pages.joined()
    starts = {name: joined.index(text.split("\n")[0]) for name, text in MODULES.items()}
    for name, text in MODULES.items():
        for _, module in imports(text):
            assert starts[module] < starts[name], (name, module)


def test_nothing_of_imports_and_exports_is_left():
    assert not re.search(r"^\s*(import|export)\b", pages.joined(), re.MULTILINE)


def test_no_two_modules_have_a_name_in_common():
    counts = Counter(name for text in MODULES.values() for name in DECLARED.findall(text))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("module", MODULES)
def test_what_is_imported_is_there_and_used(module):
    text = MODULES[module]
    body = IMPORTS.sub("", text)
    for name, source in imports(text):
        assert name in EXPORTED.findall(MODULES[source]), (name, source)
        assert re.search(rf"\b{name}\b", body), name


def test_what_is_exported_is_imported_somewhere():
    wanted = {pair for text in MODULES.values() for pair in imports(text)}
    for module, text in MODULES.items():
        for name in EXPORTED.findall(text):
            assert (name, module) in wanted


def test_every_style_is_in_the_page():
    html = pages.page().html
    for file in STATIC.glob("*.css"):
        assert file.read_text() in html


def test_a_trace_cannot_end_the_element_that_it_stands_in():
    html = pages.page({"algorithm": "</script><script>alert(1)</script>"}).html
    assert "<script>alert" not in html
    assert html.count("</script>") == 2
