"""Compiles the kernels of training and of tests for an H200, which need not be there.

A driver stands in for that of a GPU: kernels are compiled with whatever they are called with, and
not launched. So nothing that is computed here has a meaning. Prints the names of the kernels.
"""

import sys
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

with (  # those that follow each other are made for a GPU that can do it
    patch("torch.cuda.is_available", lambda: True),
    patch("torch.cuda.get_device_capability", lambda *_: (9, 0)),
):
    from algorist.kernels.fused.adam import Adam, Weights

from algorist.data import official
from algorist.model.computing import Computing
from algorist.model.predicting import predict
from algorist.training import recipes
from algorist.training.engine import lesson
from algorist.training.trainer import Trainer

compiled = set()
launch = JITFunction.run


def compile_only(kernel, *given, grid, warmup, **options):
    compiled.add(kernel.fn.__name__)
    return launch(kernel, *given, grid=grid, warmup=True, **options)


def learn(config):
    """What a training step and a test launch."""
    trainer = Trainer(config, Computing(kernels="fused"))
    (name,) = config.algorithms
    portion = trainer.feeds[name].portion(0)
    trainer.engine.learn(lesson(portion, trainer.engine.fit))
    predict(trainer.learner, name, official.beginning(name, "test", 1))


driver.set_active(
    SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
    )
)
JITFunction.run = compile_only
for given in sys.argv[1:]:
    algorithm, processor = given.split(":")
    config = recipes.generalist([algorithm])
    learn(replace(config, model=replace(config.model, processor=processor)))
nothing = torch.zeros(1, 1)
Adam([Weights(*[nothing] * len(Weights._fields))]).warm_up()
print(*sorted(compiled))
