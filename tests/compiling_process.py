"""Compiles the kernels of training and of tests for an H200, which need not be there.

A driver stands in for that of a GPU: kernels are compiled with whatever they are called with, and
not launched. So nothing that is computed here has a meaning. Prints the names of the kernels.
"""

import sys
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import torch


def compile_instead_of_launching():
    """From now on; returns the names of all kernels that are called."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    called, launch = set(), JITFunction.run

    def compile_only(kernel, *given, grid, warmup, **options):
        called.add(kernel.fn.__name__)
        return launch(kernel, *given, grid=grid, warmup=True, **options)

    JITFunction.run = compile_only
    driver.set_active(
        SimpleNamespace(
            get_current_target=lambda: GPUTarget("cuda", 90, 32),
            get_current_device=lambda: 0,
            get_current_stream=lambda device: 0,
        )
    )
    return called


def learn(algorithm, processor):
    """Call all that a training step and a test need."""
    from algorist.data import official
    from algorist.model.compute_config import ComputeConfig
    from algorist.model.inference import predict
    from algorist.training import recipes
    from algorist.training.trainer import Trainer

    config = recipes.ibarz2022([algorithm])
    config = replace(config, model=replace(config.model, processor=processor))
    trainer = Trainer(config, ComputeConfig(kernels="fused"))
    trainer.engine.learn(trainer.task_streams[algorithm].packed_batch(0, trainer.engine.fit))
    predict(trainer.learner, algorithm, official.first_samples(algorithm, "test", 1))


def update():
    """Call what Adam needs, which only GPUs do."""
    from algorist.kernels.fused.adam import Adam, Weights

    nothing = torch.zeros(1, 1)
    Adam([Weights(*[nothing] * len(Weights._fields))]).warm_up()


def operate():
    """Call the operations for processors of one's own, with edges of every form."""
    from algorist import kernels
    from algorist.kernels.affine import Affine

    S, B, n, h, F, T = 1, 2, 16, 128, 3, 8
    nodes = torch.zeros(S, B, n, h, requires_grad=True)
    pairs = torch.zeros(S, B, n, n, h, requires_grad=True)
    raw, mask = torch.zeros(S, B, n, n, F, requires_grad=True), torch.ones(S, B, n, n)
    square = Affine(torch.zeros(S, h, h, requires_grad=True), torch.zeros(S, h))
    score = Affine(torch.zeros(S, h, 1, requires_grad=True), torch.zeros(S, 1))
    factored = kernels.FactoredEdges(raw, torch.zeros(S, F, h))
    of_triplets = kernels.FactoredEdges(raw, torch.zeros(S, F, 3 * T), pairs[..., : 3 * T])
    with kernels.using("fused", precision="tf32"):
        for edges in (pairs, factored):
            largest, mean = kernels.message_max_mean(nodes, nodes, edges, square, square, mask)
            logits = kernels.pointer_logits(nodes, nodes, edges, score)
            (largest.sum() + mean.sum() + logits.sum()).backward()
        kernels.message_max_mean(nodes, nodes, None, square, square)[1].sum().backward()
        kernels.triplet_max(nodes[..., : 3 * T], of_triplets).sum().backward()
        kernels.edge_pointer_logits(pairs, nodes, score).sum().backward()
        numbers = torch.zeros(S, B, n, n, n, F), torch.zeros(S, F, h)
        kernels.triplet_logits(pairs, pairs, pairs, score, *numbers).sum().backward()
        choose_sums()


def choose_sums():
    """Call what new values of gated scalars need."""
    from algorist.model.executing.exact_sums import CONSTANTS, SumLogits

    S, B, n, G = 1, 2, 16, 70 + CONSTANTS
    shapes = (S, B, n), (S, B, n, G + 1), (S, B, n, 2 * G), (S, B, n, G)
    logits = SumLogits(*(torch.zeros(*shape, requires_grad=True) for shape in shapes))
    old = torch.zeros(S, B, n)
    logits.loss(old, old)[0].sum().backward()
    with torch.no_grad():
        logits.decide(old)


def main():
    called = compile_instead_of_launching()
    with (  # kernels that follow each other are made for a GPU that can do it
        patch("torch.cuda.is_available", lambda: True),
        patch("torch.cuda.get_device_capability", lambda *_: (9, 0)),
    ):
        import algorist.kernels.fused.tiling  # noqa: F401
    with patch("algorist.model.fused.support.launched_on", lambda device: True):
        for words in sys.argv[1:]:
            learn(*words.split(":"))
    with patch("algorist.kernels.ops.launched_on", lambda device: True):
        operate()
    update()
    print(*sorted(called))


if __name__ == "__main__":
    main()
