"""A recipe as a plug-in: a net that a laptop can train in minutes.

algorist --plugin examples/laptop.py train bfs --recipe laptop --out runs/laptop
"""

from dataclasses import replace

from algorist.training.config import ScheduleConfig
from algorist.training.recipes import RECIPES, generalist, without


def laptop(algorithms):
    """The paper's recipe with a narrow net, without triplets, and for a tenth of the time."""
    config = without(generalist(algorithms), "triplets")
    return replace(
        config,
        model=replace(config.model, hidden=32),
        schedule=ScheduleConfig(steps=1_000, validate_every=100),
    )


RECIPES["laptop"] = laptop
