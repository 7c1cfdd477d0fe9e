"""Small nets that execute, their problems and what they read, for tests."""

import torch
from torch.nn.functional import one_hot

import algorist
from algorist.data import official
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.exact_sums import SumLogits, with_constants
from algorist.model.executing.task_features import TaskFeatures
from algorist.model.learner import Learner, TaskEncoding
from algorist.spec import Kind, Location
from algorist.training.config import change_settings
from algorist.training.recipes import recipe

ENCODING = TaskEncoding(gated_scalars=True, output_step=True)
SMALL = {"hidden": 16, "triplet_features": 4, "transitions": 24, "batch_size": 8, "sizes": (4, 5)}
LOCATIONS = (Location.NODE, Location.EDGE, Location.GRAPH)


def config(*names, **settings):
    """The recipe for a small net."""
    return change_settings(recipe("algorist2026", names), **{**SMALL, **settings})


def learner(name, **settings):
    """A small net with fresh weights."""
    own = config(name, **settings)
    return Learner.new([name], own.model, own.convention, own.seeds)


def seen(name, n=5, count=3, seed=5):
    """Problems as these nets see them."""
    n = 16 if algorist.get(name).stretch != 1 else n
    return ENCODING.batch(name, official.generate(name, n=n, count=count, seed=seed))


def derived_features(name):
    """What a net for an algorithm derives from inputs and hints."""
    spec = ENCODING.spec(name)
    return DerivedFeatures((*spec.inputs, *spec.hints), config(name).model)


def columns_of(numbers):
    """The columns of numbers (..., F), as lists."""
    return [column.tolist() for column in numbers.unbind(-1)]


def features_of(name, *names):
    """Some features of an algorithm."""
    spec = ENCODING.spec(name)
    return TaskFeatures([spec[n] for n in names])


def hot(index, n):
    """One-hot masks or pointers."""
    return one_hot(torch.as_tensor(index), n).float()


def is_gated(feature):
    return feature.kind == Kind.GATED_SCALAR


def sum_logits(gate, first, second, terms=(0.3, 0.5)):
    """A choice of one entry, in whose favour a logit of 20 is: terms are known, 0, .01, 1, 1/4."""
    terms = with_constants(torch.tensor(terms).view(1, 1, -1), 4)
    count = terms.shape[-1]
    options, addends = torch.zeros(1, 1, count + 1), torch.zeros(1, 1, 2 * count)
    options[..., first], addends[..., second] = 20.0, 20.0
    return SumLogits(torch.full((1, 1), gate), options, addends, terms)
