"""How many operations of PyTorch a net launches: in a training update, and in a step of inference.

    python benchmarks/launches.py bfs dfs --replicas 1,3
    python benchmarks/launches.py quickselect --by function --most 30

On a GPU each is a kernel or a few, and where they are small, launching them takes longer than they
run. They are counted on the CPU, by the function that calls them; those of the backward pass count
for the function whose gradient they compute. Not counted are views and uninitialised memory, and
what is another kernel on a GPU: the operations of `algorist.kernels`, the optimizer, and of exact
sums the loss (four kernels each way for all scalars of a location) and the decision
(one).
"""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import algorist
from algorist.kernels import affine
from algorist.model.compute_config import ComputeConfig
from algorist.model.window import split_window
from algorist.training.recipes import recipe
from algorist.training.trainer import Trainer

_PACKAGE = str(Path(affine.__file__).parents[1])
_FRAME = re.compile(r'File "(.*)", line \d+, in (.*)')
_ANOTHER_KERNEL = re.compile(
    r"kernels/(ops|plain|compiled|maps)\.py|training/optimizer\.py"
    r"|executing/exact_sums\.py (loss|decide)$"
)
_NO_KERNEL = re.compile(
    r"aten::((new_)?empty(_like|_strided)?|as_strided|view|_unsafe_view|_reshape_alias|alias|detach|lift_fresh|"
    r"expand|transpose|permute|t|squeeze|unsqueeze|slice|select|unbind|split|diagonal|unfold)\b"
    r"|aten::(min|max|_local_scalar_dense)$"  # checks of indices, on CPUs alone
)
_LOGSUMEXP_KERNELS = 9
Places = Counter[str]
"""The number of kernels by file and function."""
_STEPS = 4
"""The steps of a window of inference, and of one of twice its length."""


def main() -> None:
    """Count what the arguments ask for and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithms", nargs="+")
    parser.add_argument("--recipe", default="algorist2026")
    parser.add_argument("--hidden", type=int, default=128, help="channels (default: 128)")
    parser.add_argument("--replicas", default="1", metavar="N,N", help="nets at once (default: 1)")
    parser.add_argument("--size", type=int, default=64, help="nodes in inference (default: 64)")
    parser.add_argument("--by", choices=("module", "function", "line"), help="show where they are")
    parser.add_argument("--most", type=int, default=20, help="places to show (default: 20)")
    arguments = parser.parse_args()
    affine._LARGE = sys.maxsize  # products are convolutions on CPUs alone
    print(f"{'':32}{'replicas':>10}{'update':>10}{'inference step':>16}")
    for name in arguments.algorithms:
        for replicas in map(int, arguments.replicas.split(",")):
            update, step = _count(name, replicas, arguments)
            print(f"{name:32}{replicas:10}{update.total():10}{step.total():16}", flush=True)
            if arguments.by:
                _show("update", update, arguments)
                _show("inference step", step, arguments)


def _count(name: str, replicas: int, arguments: argparse.Namespace) -> tuple[Places, Places]:
    """The operations of an update and of a step of inference, by place."""
    config = recipe(arguments.recipe, [name])
    config = replace(
        config,
        seeds=tuple(range(replicas)),
        model=replace(config.model, hidden=arguments.hidden),
        data=replace(config.data, sizes=(16,)),
    )
    trainer = Trainer(config, ComputeConfig())
    packed = trainer.task_streams[name].packed_batch(1, trainer.engine.fit)
    trainer.engine.learn(packed)  # makes the state of the optimizer
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        update = _operations(lambda: trainer.engine.learn(packed))
    net = trainer.net.eval()
    batch = algorist.get(name).sample(n=arguments.size, count=1, seed=0)
    window = config.convention.window([config.convention.batch(name, batch)] * replicas)

    def run(steps: int) -> None:
        with torch.no_grad():
            net.rollout(name, next(split_window(window, steps)), keep_hints=False)

    run(_STEPS)
    twice = _operations(lambda: run(2 * _STEPS))
    twice.subtract(_operations(lambda: run(_STEPS)))
    return update, Counter({place: count // _STEPS for place, count in twice.items() if count})


def _operations(work: Callable[[], object]) -> Places:
    mode = _Counting()
    with mode:
        work()
    return mode.places


class _Counting(TorchDispatchMode):
    """Counts operations by file and function."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.places: Places = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not _NO_KERNEL.match(func.name()):
            frames = list(_frames())
            if not any(_ANOTHER_KERNEL.search(frame) for frame in frames):
                self.places[frames[0] if frames else "autograd"] += _kernels(func, args)
        return func(*args, **(kwargs or {}))


def _kernels(func: Any, args: Any) -> int:
    """How many kernels an operation is on a GPU, as far as that is known to differ from one.

    Tensors are concatenated by one kernel only if they have at most four axes; `torch.stack` counts
    the new axis only if it is the last.
    """
    name = func.name()
    if name == "aten::logsumexp":
        return _LOGSUMEXP_KERNELS
    if name in ("aten::cat", "aten::stack"):
        axes = args[0][0].ndim + (name == "aten::stack" and args[1:] in ((-1,), (args[0][0].ndim,)))
        return sum(x.numel() > 0 for x in args[0]) if axes > 4 else 1
    return 1


def _frames() -> Iterator[str]:
    """The functions of the package that an operation is called by, innermost first."""
    node: Any = torch._C._current_autograd_node()
    if node is not None:
        trace = node.metadata.get("traceback_", [])
        calls = [match.groups() for match in map(_FRAME.search, reversed(trace)) if match]
    else:
        stack = traceback.walk_stack(None)
        calls = [(frame.f_code.co_filename, frame.f_code.co_name) for frame, _ in stack]
    for file, function in calls:
        if file.startswith(_PACKAGE):
            yield f"{file.removeprefix(_PACKAGE + '/')} {function}"


def _show(title: str, places: Places, arguments: argparse.Namespace) -> None:
    if arguments.by == "module":
        grouped: Places = Counter()
        for place, count in places.items():
            grouped[place.split()[0]] += count
        places = grouped
    print(f"  {title}:")
    for place, count in places.most_common(arguments.most):
        print(f"    {count:6}  {place}")


if __name__ == "__main__":
    main()
