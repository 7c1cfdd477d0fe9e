"""The options that give the inputs of each algorithm: one table, by the names of the inputs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from algorist.algorithms import Algorithm
from algorist.algorithms.samplers.strings import Words
from algorist.algorithms.sampling import DERIVED
from algorist.algorithms.user_inputs.edge_lists import GraphOptions
from algorist.algorithms.user_inputs.graph_forms import list_edges
from algorist.algorithms.user_inputs.problems import OptionText, draw_problem
from algorist.errors import expect_positive, join_names, shorten
from algorist.problems import files
from algorist.spec import Kind, Location

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Way:
    """A way to give the inputs of some algorithms."""

    options: tuple[str, ...]
    """The arguments that belong to it, by their names in the parsed command line."""
    read: Callable[[Algorithm, Namespace], Inputs]
    example: str
    """What may stand behind the name of the algorithm."""


FILES = {
    "numbers": "a file of numbers instead of VALUEs",
    "points": "a file with x,y in each line",
    "intervals": "a file of activities: from,to in each line",
    "tasks": "a file with deadline,weight in each line",
}
TEXTS = {
    "text": "where a matcher searches; at most four different letters, or three in the pattern",
    "pattern": "what it searches for",
    "x": "the first string of lcs_length; at most four different letters in both",
    "y": "the second",
}
LISTS = {
    "p": "how probable each key is (optimal_bst)",
    "q": "how probable each gap around the keys is, one more",
}
"""Options that take a file, a text or a list of numbers, and their help."""
_ALWAYS, _SEED = ("inputs", "random"), "seed"
_OPTIONS = ("values", *FILES, "target", "graph", "source", "weight", "directed", *TEXTS, *LISTS)


def nothing() -> Namespace:
    """A command line that gives no problem yet."""
    return Namespace(**{**dict.fromkeys((*_OPTIONS, *_ALWAYS, _SEED)), "values": []})


def given(arguments: Namespace) -> list[str]:
    """Which arguments of a problem a command line gives."""
    return [name for name in vars(nothing()) if getattr(arguments, name) not in (None, [])]


def problem(algorithm: Algorithm, arguments: Namespace) -> Inputs:
    """The problem that a command line gives, in the way of its algorithm."""
    way = way_of(algorithm)
    names = [name for name in given(arguments) if name != _SEED]
    for name in names:
        if name not in (*way.options, *_ALWAYS):
            raise ValueError(
                f"{called(name)}: {algorithm.name} takes none, {_usage(algorithm, arguments)}"
            )
        if name in _ALWAYS and len(names) > 1:
            others = ", ".join(called(other) for other in names if other != name)
            raise ValueError(f"{called(name)}: got {others} besides, expected one or the other")
    if arguments.seed is not None and arguments.random is None:
        raise ValueError("--seed: expected --random too, since only random problems have a seed")
    if arguments.random is not None:
        return drawn(algorithm, expect_positive("--random", arguments.random), arguments.seed or 0)
    if arguments.inputs is not None:
        return _all_inputs(arguments.inputs)
    if not names:
        raise ValueError(f"{algorithm.name}: got no problem, {_usage(algorithm, arguments)}")
    return way.read(algorithm, arguments)


def drawn(algorithm: Algorithm, n: int, seed: int) -> Inputs:
    """The inputs of a random problem."""
    if seed < 0:
        raise ValueError(f"--seed: got {seed}, expected 0 or more")
    return draw_problem(algorithm, n, seed)


def called(name: str) -> str:
    """What users call an argument."""
    return {"values": "VALUE", "directed": "--directed, --undirected"}.get(name, f"--{name}")


def _usage(algorithm: Algorithm, given: Namespace) -> str:
    command = getattr(given, "command", "run")
    return f"expected for example: algorist {command} {algorithm.name} {way_of(algorithm).example}"


def _all_inputs(path: str) -> Inputs:
    value = files.json_of(path, files.text_of("--inputs", path))
    if not isinstance(value, dict):
        raise ValueError(f"{path}: got {shorten(value)}, expected an object of inputs by name")
    return value


def way_of(algorithm: Algorithm) -> Way:
    """The row of the table for an algorithm, or what the kinds of its inputs suggest."""
    features = [f for f in algorithm.spec.inputs if f.name not in DERIVED]
    if isinstance(algorithm.adapt, Words):
        return _words(algorithm.adapt)
    known = _WAYS.get(frozenset(f.name for f in features))
    if known is not None:
        return known
    if len(features) == 1 and features[0].location == Location.NODE:
        return _numbers(features[0].name, "5 2 9 1") if features[0].kind == Kind.SCALAR else _OTHER
    return _OTHER


def _numbers(name: str, example: str) -> Way:
    return Way(
        ("values", "numbers"), lambda algorithm, given: {name: _plain_numbers(given)}, example
    )


def _plain_numbers(given: Namespace) -> list[float]:
    if given.numbers is None:
        words = " ".join(given.values).replace(",", " ").split()
        return [files.number("VALUE", word) for word in words]
    _either_or(given, "numbers")
    return files.numbers(given.numbers, files.text_of("--numbers", given.numbers))


def _either_or(given: Namespace, option: str) -> None:
    if given.values:
        raise ValueError(f"--{option}: got VALUEs besides, expected one or the other")


def _keys_and_target(algorithm: Algorithm, given: Namespace) -> Inputs:
    if given.target is None:
        raise ValueError(f"--target: got nothing, {_usage(algorithm, given)}")
    return {"key": _plain_numbers(given), "target": files.number("--target", given.target)}


def _pairs(option: str, first: str, second: str, example: str) -> Way:
    def read(algorithm: Algorithm, given: Namespace) -> Inputs:
        path = getattr(given, option)
        if path is None:
            rows = [_pair(word) for word in " ".join(given.values).split()]
        else:
            _either_or(given, option)
            rows = files.table(path, files.text_of(f"--{option}", path), 2)
        return {first: [row[0] for row in rows], second: [row[1] for row in rows]}

    return Way(("values", option), read, example)


def _pair(word: str) -> list[float]:
    cells = word.split(",")
    if len(cells) != 2:
        raise ValueError(f"VALUE: got {shorten(word)}, expected two numbers, like 3,5")
    return [files.number("VALUE", cell) for cell in cells]


def _probabilities(algorithm: Algorithm, given: Namespace) -> Inputs:
    inputs = {}
    for name in LISTS:
        text = getattr(given, name)
        if text is None:
            raise ValueError(f"--{name}: got nothing, {_usage(algorithm, given)}")
        inputs[name] = [files.number(f"--{name}", cell) for cell in text.split(",")]
    return inputs


def _words(words: Words) -> Way:
    def read(algorithm: Algorithm, given: Namespace) -> Inputs:
        names = (words.first, words.second)
        return {n: getattr(given, n) for n in names if getattr(given, n) is not None}

    return Way((words.first, words.second), read, f"--{words.first} abcab --{words.second} ca")


def _graph(algorithm: Algorithm, given: Namespace) -> Inputs:
    if given.graph is None:
        raise ValueError(f"--graph: got nothing, {_usage(algorithm, given)}")
    has_source = any(feature.name == "s" for feature in algorithm.spec.inputs)
    found: dict[str, Any] = {"A": files.graph(given.graph, files.text_of("--graph", given.graph))}
    if has_source and given.source is None:
        edges = list_edges(found["A"], GraphOptions(weighted=False))
        nodes = join_names(edges.names or range(edges.n))
        raise ValueError(f"--source: got nothing, expected a node to start at: {nodes}")
    if has_source:
        found["s"] = OptionText("--source", given.source)
    if given.directed is not None:
        found["directed"] = given.directed
    if given.weight is not None:
        found["weight"] = None if given.weight.lower() == "none" else given.weight
    return found


_WAYS = {
    frozenset({"key"}): _numbers("key", "5 2 9 1"),
    frozenset({"p"}): _numbers("p", "30 35 15 5 10 20 25"),
    frozenset({"key", "target"}): Way(
        ("values", "numbers", "target"), _keys_and_target, "1 2 5 9 --target 5"
    ),
    frozenset({"x", "y"}): _pairs("points", "x", "y", "0,0 4,3 0,3 4,0"),
    frozenset({"s", "f"}): _pairs("intervals", "s", "f", "1,4 3,5 0,6 5,7"),
    frozenset({"d", "w"}): _pairs("tasks", "d", "w", "4,70 2,60 4,50 1,30"),
    frozenset({"p", "q"}): Way(("p", "q"), _probabilities, "--p 0.2,0.3 --q 0.1,0.2,0.2"),
    frozenset({"A"}): Way(("graph", "directed", "weight"), _graph, "--graph roads.csv"),
    frozenset({"A", "priority"}): Way(
        ("graph", "directed", "weight"), _graph, "--graph roads.csv --model sparse"
    ),
    frozenset({"A", "s"}): Way(
        ("graph", "directed", "source", "weight"), _graph, "--graph roads.csv --source A"
    ),
}
"""By the names of the inputs that do not follow from others; strings have names of their own."""

_OTHER = Way((), lambda algorithm, given: {}, "--inputs problem.json")
