"""The beginning of a step against its meaning in the table of kinds: values and all grads."""

from dataclasses import dataclass
from importlib.util import find_spec

import pytest
import torch
from small import DEVICE, ON_GPU
from torch import Tensor

if find_spec("triton") is None:
    pytest.skip("fused kernels need Triton, which is not installed", allow_module_level=True)

from algorist.kernels.fused.feature_codes import CODES, Code
from algorist.kernels.fused.feedback import feed_hints, feed_hints_backward
from algorist.model.feature_values import raw_numbers, raw_width
from algorist.model.kinds import row
from algorist.model.window import unsqueeze_like
from algorist.spec import Feature, Kind, Location, Stage

HIDDEN, INPUTS, SLOTS = 16, 2, {"x": 2, "raw": 3, "before": 1}
PIECES = (Code.NODE_CHOICE, Code.POINTER, Code.EDGE_MASK, Code.GRAPH_CLASSES)
LOGITS = ("decoded", "points", "edge_values", "edge_pointer_logits", "graph_values")
SIZES = [1, 7, 17] + ([4, 16, 20, 64, 80, 128] if ON_GPU else [])


def hint(location: Location, kind: Kind, classes: int = 0) -> Feature:
    return Feature(f"{location}_{kind}_{classes}", Stage.HINT, location, kind, classes)


HINTS = [
    hint(location, kind, classes)
    for location, kind in CODES
    for classes in ((2, 5) if kind == Kind.CATEGORICAL else (0,))
]
by_hint = pytest.mark.parametrize("feature", HINTS, ids=str)
softly_and_hard = pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE)


@dataclass
class Step:
    """The buffers of one step for some hints, and where each hint is in them."""

    hints: list[Feature]
    S: int
    B: int
    n: int

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        S, B, n = self.S, self.B, self.n
        width = dict.fromkeys(("x", "raw", *LOGITS), INPUTS) | {
            "points": 0,
            "edge_pointer_logits": 0,
        }
        table, self.at = [], []
        for feature in self.hints:
            number, name = self.buffers(feature)
            code, classes = CODES[feature.location, feature.kind], feature.classes or 1
            table.append((code, width[number], width[name], classes))
            self.at.append((number, width[number], name, width[name]))
            width[number] += raw_width(feature)
            width[name] += classes
        self.table = torch.tensor(table, dtype=torch.int32, device=DEVICE).view(-1, 4)
        self.numbers = {
            "x": random(S, B, n, width["x"] + 1),  # a last column that no hint has
            "raw": random(S, B, n, n, width["raw"]),
        }
        self.logits = {
            "decoded": random(S, B, n, width["decoded"] + 3),
            "points": random(width["points"], S, B, n, n),
            "edge_values": random(S, B, n, n, width["edge_values"]),
            "edge_pointer_logits": random(width["edge_pointer_logits"], S, B, n, n, n),
            "graph_values": random(S, B, width["graph_values"]),
        }
        self.after = random(S, B, n, HIDDEN)
        self.given = torch.rand(S, B, device=DEVICE) < 0.3
        self.fresh = torch.rand(S, B, device=DEVICE) < 0.3
        self.given[0, :2] = self.fresh[0, 1:3] = torch.tensor([False, True], device=DEVICE)

    @staticmethod
    def buffers(feature: Feature) -> tuple[str, str]:
        """The names of the buffers of a hint's numbers and logits."""
        if feature.location == Location.GRAPH:
            return "x", "graph_values"
        if feature.kind == Kind.POINTER:
            return "raw", "points" if feature.location == Location.NODE else "edge_pointer_logits"
        return ("x", "decoded") if feature.location == Location.NODE else ("raw", "edge_values")

    def predictions(self, feature: Feature, name: str, index: int) -> Tensor:
        """A hint's logits as decoders return them."""
        if name in ("points", "edge_pointer_logits"):
            return self.logits[name][index]
        if feature.classes:
            return self.logits[name][..., index : index + feature.classes]
        return self.logits[name][..., index]

    def plain(self, hard: bool) -> dict[str, Tensor]:
        """What the step reads, in plain PyTorch."""
        result = {name: list(value.unbind(-1)) for name, value in self.numbers.items()}
        for feature, (number, column, name, index) in zip(self.hints, self.at, strict=True):
            own = row(feature).ops.feedback(self.predictions(feature, name, index), hard)
            for c, value in enumerate(raw_numbers(feature, own).unbind(-1), column):
                truth = self.numbers[number][..., c]
                if feature.location == Location.GRAPH:
                    value = value.unsqueeze(-1).expand_as(truth)
                result[number][c] = torch.where(unsqueeze_like(self.given, truth), truth, value)
        before = torch.where(unsqueeze_like(self.fresh, self.after), 0.0, self.after)
        return {name: torch.stack(value, -1) for name, value in result.items()} | {"before": before}

    def fused(self, hard: bool) -> dict[str, Tensor]:
        """The same, by the kernel."""
        results = {name: value.clone() for name, value in self.numbers.items()}
        results["before"] = torch.full_like(self.after, torch.nan)
        feed_hints(
            self.table, *results.values(), self.given, self.fresh, *self.offered(self.logits),
            self.after, hard,
        )  # fmt: skip
        return results

    def offered(self, logits: dict[str, Tensor]) -> list[Tensor | None]:
        """The logits' tensors, None for those that no hint reads."""
        used = {name for _, _, name, _ in self.at}
        return [logits[name] if name in used else None for name in LOGITS]


def check_values(step: Step, hard: bool) -> None:
    expected = step.plain(hard)
    for name, value in step.fused(hard).items():
        torch.testing.assert_close(value, expected[name], rtol=1e-5, atol=1e-6, msg=name)


def check_grads(step: Step, hard: bool) -> None:
    leaves = [value.requires_grad_() for value in (*step.logits.values(), step.after)]
    numbers = step.plain(hard)
    grad_buffers = {name: random(SLOTS[name], *value.shape) for name, value in numbers.items()}
    loss = sum((value * grad_buffers[name].sum(0)).sum() for name, value in numbers.items())
    *expected, d_after = torch.autograd.grad(
        loss, leaves, allow_unused=True, materialize_grads=True
    )
    grads = {name: random(*value.shape) for name, value in step.logits.items()}
    already = {name: value.clone() for name, value in grads.items()}
    into = torch.full_like(d_after, torch.nan)
    with torch.no_grad():
        edge_pointer_logits = step.offered(step.logits)[LOGITS.index("edge_pointer_logits")]
        feed_hints_backward(
            step.table, numbers["x"].detach(), numbers["raw"].detach(), step.given, step.fresh,
            edge_pointer_logits, *grad_buffers.values(), *step.offered(grads), into, hard,
        )  # fmt: skip
    torch.testing.assert_close(into, d_after, rtol=1e-5, atol=1e-6)
    for name, grad in zip(step.logits, expected, strict=True):
        torch.testing.assert_close(
            grads[name], already[name] + grad, rtol=1e-4, atol=1e-5, msg=name
        )


@by_hint
@softly_and_hard
def test_predictions_become_the_numbers_of_the_next_step(feature, hard):
    check_values(Step([feature], S=1, B=3, n=5), hard)


@by_hint
@softly_and_hard
def test_grads_flow_back_to_predictions_unless_they_are_hard(feature, hard):
    check_grads(Step([feature], S=1, B=3, n=5), hard)


@pytest.mark.parametrize("n", SIZES)
def test_many_hints_begin_together(n):
    step = Step([*HINTS, *HINTS[::-1]], S=3 if n == 7 else 1, B=3, n=n)
    check_values(step, hard=False)
    check_grads(step, hard=False)


def test_as_many_classes_as_there_may_be():
    step = Step([hint(location, Kind.CATEGORICAL, 32) for location in Location], S=1, B=3, n=4)
    check_values(step, hard=False)
    check_grads(step, hard=False)


def test_many_nodes_are_taken_in_pieces():
    """Edge pointers of so many would take the interpreter too long."""
    few = [feature for feature in HINTS if CODES[feature.location, feature.kind] in PIECES]
    step = Step(few, S=1, B=3, n=70)
    check_values(step, hard=False)
    check_grads(step, hard=False)


def test_without_hints_the_states_alone_move_on():
    check_values(Step([], S=2, B=3, n=4), hard=False)
    check_grads(Step([], S=2, B=3, n=4), hard=False)


@pytest.mark.parametrize("kind", [Kind.MASK_ONE, Kind.POINTER])
def test_the_first_of_equal_maxima_is_the_hard_choice(kind):
    step = Step([hint(Location.NODE, kind)], S=1, B=3, n=6)
    for value in step.logits.values():
        value.zero_()
    check_values(step, hard=True)
