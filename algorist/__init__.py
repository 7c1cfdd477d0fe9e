"""algorist: train one neural network to execute thirty classical algorithms, and watch it think.

    >>> import algorist
    >>> batch = algorist.get("insertion_sort").trace(key=[0.3, 0.1, 0.2])
    >>> batch.outputs["pred"].tolist()  # each node points to the one before it in order
    [[2, 1, 1]]

Those who declare algorithms of their own find all they need here too; `examples/` shows how.
What needs torch (`load`, `predict`, `evaluate`, `Learner`, `Solution`) is imported when it is
first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from algorist import data
from algorist.algorithms import Algorithm, algorithm, algorithms, get, register
from algorist.algorithms.compiling import clear, compiled, copy
from algorist.algorithms.random import below, fill_coins, fill_uniform, permutation, uniform
from algorist.algorithms.sampling import Sampler, sampler
from algorist.algorithms.tracing import record
from algorist.batch import Batch
from algorist.plugins import load_plugin
from algorist.spec import Feature, Kind, Location, Spec, Stage, edge, graph, node
from algorist.version import __version__

if TYPE_CHECKING:
    from algorist.evaluation.evaluate import evaluate
    from algorist.model.learner import Learner
    from algorist.model.predicting import predict
    from algorist.model.solution import Solution
    from algorist.training.loading import load

__all__ = [
    "Algorithm",
    "Batch",
    "Feature",
    "Kind",
    "Learner",
    "Location",
    "Sampler",
    "Solution",
    "Spec",
    "Stage",
    "__version__",
    "algorithm",
    "algorithms",
    "below",
    "clear",
    "compiled",
    "copy",
    "data",
    "edge",
    "evaluate",
    "fill_coins",
    "fill_uniform",
    "get",
    "graph",
    "load",
    "load_plugin",
    "node",
    "permutation",
    "predict",
    "record",
    "register",
    "sampler",
    "uniform",
]

_WITH_TORCH = {
    "Learner": "algorist.model.learner",
    "Solution": "algorist.model.solution",
    "evaluate": "algorist.evaluation.evaluate",
    "load": "algorist.training.loading",
    "predict": "algorist.model.predicting",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _WITH_TORCH:
            raise AttributeError(f"module 'algorist' has no attribute {name!r}")
        return getattr(import_module(_WITH_TORCH[name]), name)
