"""How long the operations of `algorist.kernels` take, by plain PyTorch and by what is fastest.

    python benchmarks/operations.py --device cuda        # Triton against PyTorch, in CUDA graphs
    python benchmarks/operations.py                      # Numba against PyTorch on the CPU
    python benchmarks/operations.py --shapes 32x16 --operations message_max --json times.json

A shape is samples x nodes. Each operation is timed forward without gradients, and forward and
backward with those of all its inputs. Edges are dense, as processors of one's own have them, or a
few raw numbers with weights ("factored"). `processor` is one step of examples/fast_processor.py.
On a GPU, calls are captured in a CUDA graph and replayed, so that only kernels are timed.
"""

from __future__ import annotations

import argparse
import runpy
import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
from libraries import write_json
from torch import Tensor

from algorist import kernels
from algorist.kernels import FactoredEdges
from algorist.kernels.affine import Affine

RAW_NUMBERS, TRIPLET_FEATURES, TRIPLET_CHANNELS = 4, 8, 32
EXAMPLE = Path(__file__).parent.parent / "examples" / "fast_processor.py"
Case = tuple[Callable[..., Tensor], list[Tensor]]
"""A function of tensors, and the tensors."""
CAPTURED = 10
"""Calls in a CUDA graph: replaying one of a single call would time the launch."""


def main() -> None:
    """Measure what the arguments ask for, print a table and write JSON."""
    arguments = _parser().parse_args()
    torch.backends.cuda.matmul.allow_tf32 = arguments.precision != "fp32"
    ways = {"plain": "plain", "fastest": "auto"}
    columns = [f"{way} {part}" for way in ways for part in ("forward", "and backward")]
    print(f"{'microseconds':32}" + "".join(f"{column:>22}" for column in columns))
    rows = []
    for shape in arguments.shapes.split(","):
        B, n = map(int, shape.split("x"))
        for name, (call, inputs) in _cases(B, n, arguments.hidden, arguments.device):
            if arguments.operations and name not in arguments.operations.split(","):
                continue
            times = []
            for kind in ways.values():
                with kernels.using(kind, precision=arguments.precision):
                    times += [_time(run, arguments) for run in _runs(call, inputs)]
            print(f"{shape + ' ' + name:32}" + "".join(f"{1e6 * x:22.1f}" for x in times))
            rows.append(
                {"shape": shape, "operation": name, **dict(zip(columns, times, strict=True))}
            )
    settings = {key: getattr(arguments, key) for key in ("hidden", "device", "precision")}
    write_json(arguments.json, {**settings, "operations": rows})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", default="32x16,512x16,8x64", metavar="BxN,BxN")
    parser.add_argument("--operations", metavar="A,B", help="these alone")
    parser.add_argument("--hidden", type=int, default=128, help="channels (default: 128)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--precision", default="tf32", help="fp32, tf32 or bf16 (default: tf32)")
    parser.add_argument("--rounds", type=int, default=10, help="timings of each (default: 10)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    return parser


def _cases(B: int, n: int, h: int, device: str) -> Iterator[tuple[str, Case]]:
    """The operations with their inputs, by name."""

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, device=device, requires_grad=True)

    def layer(width: int, out: int) -> list[Tensor]:
        weight = torch.randn(1, width, out, device=device) / width**0.5
        return [weight.requires_grad_(), draw(1, out)]

    def message(receiver: Tensor, sender: Tensor, *rest: Tensor) -> Tensor:
        edges = rest[0] if len(rest) == 5 else FactoredEdges(*rest[:2])
        layers = Affine(*rest[-4:-2]), Affine(*rest[-2:])
        return kernels.message_max(receiver, sender, edges, *layers)

    def message_both(receiver: Tensor, sender: Tensor, edges: Tensor, *rest: Tensor) -> Tensor:
        layers = Affine(*rest[:2]), Affine(*rest[2:])
        return torch.stack(kernels.message_max_mean(receiver, sender, edges, *layers))

    def pointer(source: Tensor, target: Tensor, *rest: Tensor) -> Tensor:
        edges = rest[0] if len(rest) == 3 else FactoredEdges(*rest[:2])
        return kernels.pointer_logits(source, target, edges, Affine(*rest[-2:]))

    def triplets(nodes: Tensor, *edges: Tensor) -> Tensor:
        return kernels.triplet_max(nodes, edges[0] if len(edges) == 1 else FactoredEdges(*edges))

    def triplet_logits(pair: Tensor, source: Tensor, target: Tensor, *rest: Tensor) -> Tensor:
        return kernels.triplet_logits(pair, source, target, Affine(*rest[2:]), *rest[:2])

    nodes, dense = (1, B, n, h), draw(1, B, n, n, h)
    raw, wide = draw(1, B, n, n, RAW_NUMBERS), 3 * TRIPLET_FEATURES
    ends, layers = [draw(*nodes), draw(*nodes)], [*layer(h, h), *layer(h, h)]
    factored = [raw, draw(1, RAW_NUMBERS, h)]
    yield "message_max", (message, [*ends, dense, *layers])
    yield "message_max factored", (message, [*ends, *factored, *layers])
    yield "message_max_mean", (message_both, [*ends, dense, *layers])
    of_triplets = draw(1, B, n, wide)
    yield "triplet_max", (triplets, [of_triplets, draw(1, B, n, n, wide)])
    yield "triplet_max factored", (triplets, [of_triplets, raw, draw(1, RAW_NUMBERS, wide)])
    yield "pointer_logits", (pointer, [*ends, dense, *layer(h, 1)])
    yield "pointer_logits factored", (pointer, [*ends, *factored, *layer(h, 1)])
    edge_pointers = lambda a, b, *score: kernels.edge_pointer_logits(a, b, Affine(*score))  # noqa: E731
    yield "edge_pointer_logits", (edge_pointers, [dense, ends[0], *layer(h, 1)])
    of_pairs = [draw(1, B, n, n, TRIPLET_CHANNELS) for _ in range(3)]
    numbers = [draw(1, B, n, n, n, 1), draw(1, 1, TRIPLET_CHANNELS)]
    yield "triplet_logits", (triplet_logits, [*of_pairs, *numbers, *layer(TRIPLET_CHANNELS, 1)])
    processor = _example()(h).to(device)
    given = [draw(*shape) for shape in ((B, n, h), (B, n, n, h), (B, h), (B, n, n), (B, n, h))]
    step = lambda *x: processor(*x[: len(given)])  # noqa: E731
    yield "processor", (step, [*given, *processor.parameters()])


@cache
def _example() -> Any:
    """The class of the example, which registers itself once."""
    return runpy.run_path(str(EXAMPLE))["FastMaxMean"]


def _runs(call: Callable[..., Tensor], inputs: list[Tensor]) -> Iterator[Callable[[], object]]:
    """Forward alone, then forward and backward."""
    with torch.no_grad():
        weights = torch.randn_like(call(*inputs))

    def forward() -> Tensor:
        with torch.no_grad():
            return call(*inputs)

    def both() -> object:
        return torch.autograd.grad(call(*inputs), inputs, weights, allow_unused=True)

    yield forward
    yield both


def _time(run: Callable[[], object], arguments: argparse.Namespace) -> float:
    """The median of the seconds that a call takes."""
    if torch.device(arguments.device).type != "cuda":
        run()
        return statistics.median(_clock(run) for _ in range(arguments.rounds))
    graph = _captured(run)
    times = []
    for _ in range(arguments.rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(float(start.elapsed_time(end)) / 1e3 / CAPTURED)
    return statistics.median(times)


def _clock(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _captured(run: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """A CUDA graph of some calls, after a few outside it that load the kernels."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CAPTURED):
            run()
    return graph


if __name__ == "__main__":
    main()
