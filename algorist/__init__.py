"""algorist: train one neural network to execute thirty classical algorithms, and watch it think."""

from algorist import data
from algorist.algorithms import Algorithm, algorithm, algorithms, get, register
from algorist.batch import Batch
from algorist.spec import Feature, Kind, Location, Spec, Stage, edge, graph, node

__version__ = "0.1.0"

__all__ = [
    "Algorithm",
    "Batch",
    "Feature",
    "Kind",
    "Location",
    "Spec",
    "Stage",
    "algorithm",
    "algorithms",
    "data",
    "edge",
    "get",
    "graph",
    "node",
    "register",
]
