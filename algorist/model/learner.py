"""A learner: a net with the encoding of its tasks, saved as one safetensors file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from algorist.algorithms import get
from algorist.atomic import write_atomically
from algorist.errors import UnregisteredError
from algorist.model.former_names import by_present_names
from algorist.model.net import ModelConfig, Net
from algorist.model.task_encoding import TaskEncoding
from algorist.spec import Feature, Kind, Location, Spec, Stage
from algorist.version import __version__

if TYPE_CHECKING:
    from algorist.batch import Batch
    from algorist.model.prediction import Prediction
    from algorist.model.solving.solution import Solution
    from algorist.model.solving.sparse import SparseSolution

__all__ = ["Learner", "TaskEncoding", "load_weights", "plain_specs", "read"]

_FORMAT = "algorist-1"
_LONGEST = 120
"""Letters of what PyTorch says."""


@dataclass(frozen=True, repr=False)
class Learner:
    """A net for some algorithms, with one replica for each seed."""

    net: Net
    """All weights, and the encoding of tasks for them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The configuration of its training, and for each of the `replicas` seed, step and score."""

    @classmethod
    def new(
        cls,
        algorithms: Sequence[str],
        model: ModelConfig,
        encoding: TaskEncoding,
        seeds: Sequence[int] = (0,),
    ) -> Learner:
        """Create a learner with fresh weights."""
        learner = cls.blank(algorithms, model, encoding, len(seeds))
        learner.net.draw(seeds)
        return learner

    @classmethod
    def blank(
        cls, algorithms: Sequence[str], model: ModelConfig, encoding: TaskEncoding, replicas: int
    ) -> Learner:
        """A learner whose weights are still to be drawn or loaded."""
        specs = {name: encoding.spec(name) for name in algorithms}
        return cls(Net(specs, model, replicas, encoding=encoding))

    def __call__(self, batch: Batch, algorithm: str | None = None) -> Prediction:
        """Predict a batch with a learner of one seed, as `Net.forward` does."""
        prediction: Prediction = self.net(batch, algorithm)
        return prediction

    def __repr__(self) -> str:
        return f"Learner({self.net!r})"

    @property
    def encoding(self) -> TaskEncoding:
        """The encoding of tasks for its net."""
        return self.net.encoding

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms of its net."""
        return tuple(self.net.specs)

    def by_algorithm(self) -> dict[str, Learner]:
        """Itself for each algorithm that it knows, as others have a learner for each."""
        return dict.fromkeys(self.algorithms, self)

    def replica(self, index: int) -> Learner:
        """The learner that one of the seeds made."""
        if not 0 <= index < self.net.replicas:
            raise ValueError(f"index: got {index}, expected 0 to {self.net.replicas - 1}")
        net = Net(
            self.net.specs,
            self.net.config,
            encoding=self.encoding,
            user_decoders=self.net.user_decoders,
        )
        net.kernels, net.precision = self.net.kernels, self.net.precision
        state = {name: value[index : index + 1] for name, value in self.net.state_dict().items()}
        net.load_state_dict(state)
        net.train(self.net.training)
        metadata = dict(self.metadata)
        if "replicas" in metadata:
            metadata["replicas"] = [metadata["replicas"][index]]
        return Learner(net.to(self.net.device), metadata)

    def best_replica(self) -> Learner:
        """The learner with the best validation score; of the first seed, if nobody has measured."""
        if self.net.replicas == 1:
            return self
        scores = [about.get("validation") for about in self.metadata.get("replicas", [])]
        known = [-math.inf if score is None else score for score in scores]
        return self.replica(known.index(max(known)) if known else 0)

    def run(self, algorithm: str, /, *, compare: bool = False, **inputs: Any) -> Solution:
        """Solve a problem of your own, as the best of the replicas does.

        The inputs have the names that the algorithm gives them. A graph `A` may be a matrix (numpy,
        scipy, torch, dense or sparse), a networkx graph, a DataFrame of edges, a list of (from, to)
        or (from, to, weight), a mapping of nodes to neighbours, a PyG `Data` or an `edge_index`
        (with `edge_weight`). `weight` names the attribute or column of its weights, None: every
        edge weighs 1; `directed` says which way edges lead where the graph does not. Where nodes
        have names the answer is in them, and so may be the source `s`. What could be read in two
        ways is refused; `solution.read` says what was read. Points can be given as `points`,
        strings as `text` and `pattern` or `x` and `y`. What follows from others (`pos`, `adj`) is
        left out. Numbers of any size are brought into the range that the net knows. With `compare`
        the solution holds the true trajectory too, and where the net first went another way.

            >>> from algorist.model.net import ModelConfig
            >>> learner = Learner.new(["dijkstra"], ModelConfig(hidden=16), TaskEncoding())
            >>> roads = {"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {}}
            >>> solution = learner.run("dijkstra", A=roads, s="home", compare=True)
            >>> sorted(solution.answer)  # fresh weights: its paths mean nothing yet
            ['home', 'park', 'shop']
            >>> solution.comparison.answer
            {'home': 'home', 'shop': 'home', 'park': 'shop'}
            >>> solution.hints["d"].shape == (solution.steps, 3)
            True
            >>> learner.run("dijkstra", A=roads, s="work")
            Traceback (most recent call last):
                ...
            ValueError: s: got 'work', expected a node of the graph: home, shop, park
        """
        from algorist.model.solving.solver import solve

        return solve(self, algorithm, inputs, compare=compare)

    def run_sparse(self, algorithm: str, /, **inputs: Any) -> SparseSolution:
        """Solve a problem on a large graph, as `run` takes it, with memory that grows with edges.

        The processor must run on sparse graphs: pgn, pgn_mask, gpgn, gpgn_mask, gin or recgnn.
        """
        from algorist.model.solving.sparse import solve_sparse

        return solve_sparse(self, algorithm, inputs)

    def run_many(
        self, algorithm: str, problems: Sequence[Mapping[str, Any]], *, compare: bool = False
    ) -> list[Solution]:
        """Solve several problems, of one size or of many, each given as `run` takes its inputs.

        Those of one size are computed together.

            >>> from algorist.model.net import ModelConfig
            >>> learner = Learner.new(["minimum"], ModelConfig(hidden=16), TaskEncoding())
            >>> solutions = learner.run_many("minimum", [{"key": [3, 1, 2]}, {"key": [20, 10]}])
            >>> [len(solution.inputs["key"]) for solution in solutions]
            [3, 2]
        """
        from algorist.model.solving.solver import solve_many

        return solve_many(self, algorithm, problems, compare=compare)

    def save(self, path: Path | str, *, half: bool = False) -> None:
        """Write everything to one safetensors file, which is half as large in half precision."""
        description = {
            "format": _FORMAT,
            "version": __version__,
            "model": asdict(self.net.config),
            "convention": asdict(self.encoding),
            "specs": plain_specs(self.net.specs),
            "replicas": self.net.replicas,
            "about": dict(self.metadata),
        }
        if self.net.user_decoders:
            description["decoders"] = list(self.net.user_decoders)
        kind = torch.float16 if half else torch.float32
        tensors = {
            name: t.detach().to("cpu", kind).contiguous()
            for name, t in self.net.state_dict().items()
        }
        content = save(tensors, {"algorist": json.dumps(description)})
        try:
            with write_atomically(Path(path)) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise OSError(f"{path}: cannot be written ({error.strerror})") from error


def read(path: Path | str, device: torch.device | str = "cpu") -> Learner:
    """The learner in a file that `Learner.save` wrote."""
    try:
        with safe_open(str(path), "pt") as file:
            description = json.loads((file.metadata() or {}).get("algorist", "{}"))
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
            tensors = by_present_names(tensors)
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not a readable safetensors file ({error})") from error
    if not isinstance(description, dict) or description.get("format") != _FORMAT:
        raise ValueError(f"{path}: got a file without {_FORMAT} in it, expected a saved learner")
    try:
        learner = _described(description)
        load_weights(learner.net, tensors)
    except UnregisteredError as error:
        raise error.needed_by(path) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path}: the saved learner is incomplete or damaged ({error})") from error
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise ValueError(f"{path}: {name} has values that are not finite: the file is damaged")
    learner.net.to(device).eval()
    return learner


def plain_specs(specs: Mapping[str, Spec]) -> dict[str, list[dict[str, Any]]]:
    """The features of some algorithms, as JSON has them."""
    return {name: [asdict(feature) for feature in spec] for name, spec in specs.items()}


def load_weights(net: Net, weights: Mapping[str, torch.Tensor]) -> None:
    """Put weights into a net, if they are those of such a net."""
    try:
        net.load_state_dict(weights)
    except RuntimeError as error:
        _, _, first = str(error).partition("\n")
        raise ValueError(
            f"these are not the weights of this {net.config.processor} ("
            f"{' '.join(first.split())[:_LONGEST]}): load plug-ins as they were when it was trained"
        ) from error


def _feature(name: str, stage: str, location: str, kind: str, classes: int) -> Feature:
    return Feature(name, Stage(stage), Location(location), Kind(kind), classes)


def _described(description: Mapping[str, Any]) -> Learner:
    """A learner like the described one, whose weights are still to be loaded."""
    for name in description["specs"]:
        get(name)
    specs = {
        name: Spec(tuple(_feature(**feature) for feature in features))
        for name, features in description["specs"].items()
    }
    encoding = TaskEncoding(**description["convention"])
    config, replicas = ModelConfig(**description["model"]), description["replicas"]
    own = description.get("decoders", ())
    net = Net(specs, config, replicas, encoding=encoding, user_decoders=own)
    return Learner(net, description["about"])
