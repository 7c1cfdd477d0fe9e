"""`algorist import-official`: parameters of dm-clrs as a saved learner."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from algorist.commands import Command
from algorist.commands.arguments import parse_names
from algorist.commands.output_files import check_learner_file, print_learner_file
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.settings import add_settings

    parser.usage = "algorist import-official PICKLE FILE --algorithms A,B [OPTION ...]"
    parser.add_argument("pickle", metavar="PICKLE", help="a checkpoint of dm-clrs, NumPy arrays")
    parser.add_argument("file", metavar="FILE", help="the safetensors file to write")
    parser.add_argument(
        "--algorithms",
        type=parse_names,
        required=True,
        metavar="A,B",
        help="the algorithms that it was trained on, in the same order",
    )
    add_settings(parser, ["model", "convention"])


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Read one file, write the other."""
    from algorist.commands.settings import apply_settings
    from algorist.model.dm_clrs_parameters import import_parameters, read_pickle
    from algorist.model.learner import Learner
    from algorist.training.recipes import DEFAULT_RECIPE, recipe

    check_learner_file("FILE", arguments.file)
    start = recipe(DEFAULT_RECIPE, arguments.algorithms)
    config = apply_settings(start, arguments)
    fresh = Learner.new(config.algorithms, config.model, config.convention)
    import_parameters(fresh.net, read_pickle(arguments.pickle))
    learner = Learner(fresh.net, {"imported": arguments.pickle})
    learner.save(arguments.file)
    print_learner_file(arguments.file, terminal)


command = Command(
    help="turn a checkpoint of dm-clrs into a saved learner, without executing anything in it",
    examples="""\
algorist import-official best.pkl bfs.safetensors --algorithms bfs --processor triplet_gmpnn
algorist import-official best.pkl two.safetensors --algorithms bfs,dfs --hidden 192""",
    add_arguments=add_arguments,
    run=run,
)
