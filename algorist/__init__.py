"""algorist: train one neural network to execute thirty classical algorithms, and watch it think.

    >>> import algorist
    >>> batch = algorist.get("insertion_sort").trace(key=[0.3, 0.1, 0.2])
    >>> batch.outputs["pred"].tolist()  # each node points to the one before it in order
    [[2, 1, 1]]

Those who declare algorithms of their own find all they need here too; `examples/` shows how.
What needs torch (`load`, `predict`, `evaluate`, `train`, `Learner`, `Solution`) is imported when
it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from algorist import data
from algorist.algorithms import Algorithm, algorithm, algorithms, get
from algorist.algorithms.compiling import clear, compiled, copy
from algorist.algorithms.random import below, fill_coins, fill_uniform, permutation, uniform
from algorist.algorithms.sampling import Sampler, sampler
from algorist.algorithms.tracing import record
from algorist.batch import Batch
from algorist.plugins import load_plugin
from algorist.registration import register
from algorist.spec import Feature, Kind, Location, Spec, Stage, edge, graph, node
from algorist.version import __version__

if TYPE_CHECKING:
    from algorist.evaluation.scoring import evaluate, score
    from algorist.model.inference import predict
    from algorist.model.learner import Learner
    from algorist.model.net import Net
    from algorist.model.prediction import loss, loss_terms
    from algorist.model.processors import Processor, StepOutput
    from algorist.model.solving.solution import Solution
    from algorist.model.user_decoders import Decoder
    from algorist.training.saved_learners import load
    from algorist.training.train import train

__all__ = [
    "Algorithm",
    "Batch",
    "Decoder",
    "Feature",
    "Kind",
    "Learner",
    "Location",
    "Net",
    "Processor",
    "Sampler",
    "Solution",
    "Spec",
    "Stage",
    "StepOutput",
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
    "loss",
    "loss_terms",
    "node",
    "permutation",
    "predict",
    "record",
    "register",
    "sampler",
    "score",
    "train",
    "uniform",
]

_WITH_TORCH = {
    "Decoder": "algorist.model.user_decoders",
    "Learner": "algorist.model.learner",
    "Net": "algorist.model.net",
    "Processor": "algorist.model.processors",
    "Solution": "algorist.model.solving.solution",
    "StepOutput": "algorist.model.processors",
    "evaluate": "algorist.evaluation.scoring",
    "load": "algorist.training.saved_learners",
    "loss": "algorist.model.prediction",
    "loss_terms": "algorist.model.prediction",
    "predict": "algorist.model.inference",
    "train": "algorist.training.train",
    "score": "algorist.evaluation.scoring",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _WITH_TORCH:
            raise AttributeError(f"module 'algorist' has no attribute {name!r}")
        return getattr(import_module(_WITH_TORCH[name]), name)
