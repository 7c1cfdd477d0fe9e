"""A recipe as a plug-in: a net that a laptop can train in minutes.

algorist --plugin examples/laptop.py train bfs --recipe laptop --out runs/laptop
"""

from dataclasses import replace

import algorist
from algorist.training.config import ScheduleConfig
from algorist.training.recipes import ibarz2022, without


@algorist.register
def laptop(algorithms):
    """The paper's recipe with a narrow net, without triplets, and for a tenth of the time."""
    config = without(ibarz2022(algorithms), "triplets")
    return replace(
        config,
        model=replace(config.model, hidden=32),
        schedule=ScheduleConfig(steps=1_000, validate_every=100),
    )
