"""Processors and decoders of users' own: ordinary torch modules, and what they get wrong."""

import copy
from pathlib import Path

import pytest
import small
import torch
from torch import nn

import algorist
from algorist.cli import main
from algorist.data.chunks import Chunker
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_chunk_window, make_window
from algorist.model.net import Net
from algorist.model.processors import PROCESSORS
from algorist.model.user_decoders import USER_DECODERS
from algorist.model.window import split_window
from algorist.registration import register
from algorist.training.saved_learners import load

EXAMPLES = Path(__file__).parent.parent / "examples"
TRAIN = ["--hidden", "16", "--sizes", "4", "--batch-size", "4", "--device", "cpu"]
pytestmark = pytest.mark.usefixtures("own_registry", "piped")


@pytest.fixture(autouse=True)
def same_tables():
    """What a test registers is forgotten after it."""
    tables = [(table, dict(table)) for table in (PROCESSORS, USER_DECODERS)]
    yield
    for table, before in tables:
        table.clear()
        table.update(before)


class Counter(algorist.Processor):
    """Counts the steps in its further state, and shows the count in all states."""

    def __init__(self, hidden):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(()))

    def initial_state(self, batch_size, n):
        return {"count": torch.zeros(batch_size), "seen": (torch.ones(batch_size, n),)}

    def forward(self, nodes, edges, graph, adjacency, hidden, state):
        count = state["count"] + 1
        new = self.scale * count[:, None, None].expand_as(hidden) + 0 * nodes
        return algorist.StepOutput(
            new,
            edges=edges + 1,
            state={"count": count, "seen": (2 * state["seen"][0],)},
            losses={"steps": count, "one": torch.ones(())},
        )


def counting(**options):
    PROCESSORS["counter"] = Counter
    return small.net("bfs", processor="counter", **options)


def test_further_state_goes_on_from_step_to_step_and_through_windows():
    net, window = counting(), make_window([small.problems("bfs", n=5)])
    all_at_once = net.rollout("bfs", window).carry
    count = float(window.steps)
    assert all_at_once.state[0]["count"].tolist() == [[count] * 3]
    assert all_at_once.state[0]["seen"][0].unique().tolist() == [2.0**count]
    carry = None
    for piece in split_window(window, 1):
        carry = net.rollout("bfs", piece, carry).carry.detach()
    torch.testing.assert_close(carry.hidden, all_at_once.hidden)
    assert torch.equal(carry.state[0]["count"], all_at_once.state[0]["count"])
    back = net.load_carry(carry.tensors())
    assert torch.equal(back.state[0]["seen"][0], carry.state[0]["seen"][0])


def test_further_state_starts_anew_where_a_trajectory_begins():
    net = counting()
    stream = Chunker(lambda step: small.problems("bfs", n=4, count=1, seed=step), length=4)
    before, carry = None, None
    for step in range(3):
        chunk = stream.chunk(step)
        window = make_chunk_window([(before, chunk)])
        carry, before = net.rollout("bfs", window, carry).carry.detach(), chunk
        since = window.steps - int(window.is_first[:, 0, 0].nonzero().max())
        if window.is_first.any():
            assert carry.state[0]["count"].item() == since


def test_penalties_are_means_over_the_steps_that_count():
    net = counting()
    batch = small.problems("bfs", n=7, count=6)
    assert len(set(batch.lengths)) > 1
    for window in (make_window([batch]), make_window([batch], steps=12)):
        parts = feature_losses(net.specs["bfs"], net.rollout("bfs", window), window)
        counts = [k + 1.0 for length in batch.lengths for k in range(length - 1)]
        assert parts["steps"].item() == pytest.approx(sum(counts) / len(counts))
        assert parts["one"].item() == pytest.approx(1.0)


def test_each_seed_has_a_copy_of_its_own_drawn_from_that_seed():
    together = counting(seeds=(0, 1, 0))
    scale = together.get_parameter("processor.module.scale")
    assert scale.shape == (3,)
    assert scale[0] == scale[2] != scale[1]
    alone = counting(seeds=(1,))
    batch = small.problems("bfs")
    got = small.rolled(together, "bfs", batch, batch, batch)["pi"][[1]]
    torch.testing.assert_close(got, small.rolled(alone, "bfs", batch)["pi"])


def test_making_a_net_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    counting()
    assert torch.equal(torch.rand(2), expected)


def test_a_processor_of_torch_layers_learns_and_is_saved(tmp_path):
    algorist.load_plugin(EXAMPLES / "mean_max.py")
    net = algorist.Net(["bfs"], hidden=16, processor="mean_max", seed=1)
    before = small.weights(net)
    batch = algorist.get("bfs").sample(n=5, count=4, seed=0)
    algorist.loss(net(batch), batch).backward()
    assert all(parameter.grad is not None for parameter in net.parameters())
    other = Net(net.specs, net.config)
    other.load_state_dict(before)
    torch.testing.assert_close(other(batch).outputs["pi"], net(batch).outputs["pi"])
    again = copy.deepcopy(net)
    torch.testing.assert_close(again(batch).outputs["pi"], net(batch).outputs["pi"])


RUNS = {
    "mean_max": ["bfs", "--processor", "mean_max"],
    "lstm_cell": ["bfs", "--processor", "lstm_messages", "--chunk", "4"],
    "edge_pointer_decoder": ["floyd_warshall"],
    "gated_state": ["bfs", "--processor", "gated_state", "--seeds", "0,1"],
}


@pytest.mark.parametrize("name", RUNS)
def test_every_example_trains_evaluates_and_goes_on(name, tmp_path, capsys):
    file, folder = EXAMPLES / f"{name}.py", str(tmp_path / "run")
    assert len(file.read_text().splitlines()) < 60
    words = ["--plugin", str(file)]
    assert main([*words, "train", *RUNS[name], *TRAIN, "--steps", "2", "--out", folder]) == 0
    assert main([*words, "resume", folder, "--steps", "3"]) == 0
    assert main([*words, "eval", folder, "--n", "4", "--count", "2"]) == 0
    assert RUNS[name][0] in capsys.readouterr().out


def test_the_decoder_of_a_saved_net_is_named_where_its_plugin_is_missing(tmp_path):
    algorist.load_plugin(EXAMPLES / "edge_pointer_decoder.py")
    net = algorist.Learner.new(["floyd_warshall"], small.model(), small.CONVENTION)
    names = dict(net.net.named_parameters())
    assert "decoders.floyd_warshall.Pi.module.score.weight" in names
    net.save(tmp_path / "a.safetensors")
    plain = algorist.Learner.new(["bfs"], small.model(), small.CONVENTION)
    plain.save(tmp_path / "b.safetensors")
    assert load(tmp_path / "a.safetensors").net.user_decoders == ("via",)
    USER_DECODERS.clear()
    with pytest.raises(ValueError, match="it needs the decoder 'via', which is not here"):
        load(tmp_path / "a.safetensors")


def test_nets_from_before_a_decoder_was_registered_still_load(tmp_path):
    algorist.Learner.new(["floyd_warshall"], small.model(), small.CONVENTION).save(
        tmp_path / "a.safetensors"
    )
    algorist.load_plugin(EXAMPLES / "edge_pointer_decoder.py")
    assert load(tmp_path / "a.safetensors").net.user_decoders == ()


BEGIN = """
import torch
from torch import nn
import algorist

@algorist.register
class Mine(algorist.Processor):
    def __init__(self, hidden):
        super().__init__()
        self.update = nn.Linear(2 * hidden, hidden)

"""
FORWARD = "    def forward(self, nodes, edges, graph, adjacency, hidden):\n"
MISTAKES = {
    "no tensor": ("        return 1\n", "got states of type int, expected a tensor", 12),
    "shape": (
        "        return nodes[..., 1:]\n",
        "got states of shape (2, 3, 15), expected (2, 3, 16)",
        12,
    ),
    "product": ("        return self.update(nodes)\n", "RuntimeError: mat1 and mat2 shapes", 13),
    "name": ("        return self.updat(nodes)\n", "AttributeError: 'Mine' object has no", 13),
    "state": (
        "        return algorist.StepOutput(nodes, state=nodes)\n",
        "got a state, expected a method initial_state that makes the first one",
        12,
    ),
    "edges": (
        "        return algorist.StepOutput(nodes, edges=nodes)\n",
        "got states of edges of shape (2, 3, 16), expected (2, 3, 3, 16)",
        12,
    ),
    "loss": (
        "        return algorist.StepOutput(nodes, losses={'a': nodes})\n",
        "got a loss 'a' of shape (2, 3, 16), expected one number or (2,)",
        12,
    ),
    "type": (
        "        return nodes.double()\n",
        "got states of torch.float64, expected torch.float32",
        12,
    ),
    "in place": (
        "        edges += 1\n        return nodes\n",
        "got 'edges' changed in place, expected it as it was",
        12,
    ),
    "kept": (
        "        self.last = self.update(torch.cat((nodes, hidden), -1))\n"
        "        return self.last\n",
        "got a tensor with a gradient in self.last after a step, expected none",
        12,
    ),
    "losses that come and go": (
        "        some = {'a': nodes.mean()} if hidden.any() else {}\n"
        "        return algorist.StepOutput(nodes + 1, losses=some)\n",
        "got the losses ['a'] at one step and [] at another, expected the same names at all",
        12,
    ),
    "arithmetic": ("        return nodes * (1 // 0)\n", "ZeroDivisionError", 13),
}


@pytest.mark.parametrize(("text", "message", "line"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line_and_leaves_nothing_behind(tmp_path, capsys, text, message, line):
    file = tmp_path / "mine.py"
    file.write_text(BEGIN + FORWARD + text)
    folder = tmp_path / "run"
    words = ["--plugin", str(file), "train", "bfs", "--processor", "mine", *TRAIN]
    assert main([*words, "--steps", "1", "--out", str(folder)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"algorist: error: Mine: {message}")
    assert told.endswith(f"({file}:{line})\n")
    assert told.count("\n") == 1
    assert not folder.exists()


def test_a_forward_with_too_few_arguments_names_the_class(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(BEGIN + "    def forward(self, nodes):\n        return nodes\n")
    algorist.load_plugin(file)
    with pytest.raises(ValueError, match=r"Mine: TypeError: .*positional arguments.*mine\.py:12"):
        small.net("bfs", processor="mine")


INIT = "    def __init__(self, hidden):\n        super().__init__()\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (INIT, r"NotImplementedError: expected forward\(self, nodes, .*mine\.py:5\)"),
        (FORWARD + "        return nodes\n", r"TypeError: .*positional argument.*mine\.py:5\)"),
    ],
    ids=["forward", "hidden size"],
)
def test_a_class_that_lacks_a_method_names_it(tmp_path, body, message):
    file = tmp_path / "mine.py"
    file.write_text(
        "import algorist\n\n@algorist.register\nclass Mine(algorist.Processor):\n" + body
    )
    algorist.load_plugin(file)
    with pytest.raises(ValueError, match=f"Mine: {message}"):
        small.net("bfs", processor="mine")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"b": 1}, "got a dict with the keys 'b' as a state, expected a dict with the keys 'a'"),
        (None, "got None as a state, expected a dict with the keys 'a'"),
    ],
)
def test_a_state_of_another_structure_is_refused(returned, message):
    class Forgetful(Counter):
        def initial_state(self, batch_size, n):
            return {"a": torch.zeros(batch_size)}

        def forward(self, nodes, edges, graph, adjacency, hidden, state):
            return algorist.StepOutput(nodes, state=returned)

    PROCESSORS["forgetful"] = Forgetful
    with pytest.raises(ValueError, match=message):
        small.net("bfs", processor="forgetful")


def test_a_processor_may_have_a_state_and_no_parameters():
    class Sum(algorist.Processor):
        def __init__(self, hidden):
            super().__init__()

        def initial_state(self, batch_size, n):
            return torch.zeros(batch_size, n)

        def forward(self, nodes, edges, graph, adjacency, hidden, state):
            return algorist.StepOutput(nodes + hidden, state=state + 1)

    PROCESSORS["sum"] = Sum
    carry = (
        small.net("bfs", processor="sum").rollout("bfs", make_window([small.problems("bfs")])).carry
    )
    assert carry.state[0].unique().numel() == 1


class Tied(algorist.Processor):
    """Two layers with one weight, and a third that does not learn."""

    def __init__(self, hidden):
        super().__init__()
        self.first, self.second, self.fixed = (nn.Linear(hidden, hidden) for _ in range(3))
        self.second.weight = self.first.weight
        self.fixed.weight.requires_grad_(False)

    def forward(self, nodes, edges, graph, adjacency, hidden):
        return self.fixed(self.second(torch.relu(self.first(nodes + hidden))))


def test_tied_weights_stay_tied_and_frozen_ones_stay_as_they_are(tmp_path):
    PROCESSORS["tied"] = Tied
    before = small.net("bfs", processor="tied", seeds=(0, 1))
    assert before.processor.module.second.weight is before.processor.module.first.weight
    run = algorist.train(
        ["bfs"], out=tmp_path, seeds=(0, 1), processor="tied", hidden=16, sizes=(4,), steps=2
    )
    module = run.trainer.net.processor.module
    assert module.second.weight is module.first.weight
    assert not torch.equal(module.first.weight, before.processor.module.first.weight)
    fixed = "processor.module.fixed.weight"
    again = load(tmp_path).net
    torch.testing.assert_close(again.get_parameter(fixed), run.learner.net.get_parameter(fixed))
    drawn = algorist.Net(["bfs"], again.config, 2, seed=0)
    torch.testing.assert_close(module.fixed.weight, drawn.get_parameter(fixed))


def test_lazy_layers_are_refused():
    class Lazy(algorist.Processor):
        def __init__(self, hidden):
            super().__init__()
            self.update = nn.LazyLinear(hidden)

    PROCESSORS["lazy"] = Lazy
    with pytest.raises(ValueError, match=r"Lazy: got the lazy parameter 'update.weight', expected"):
        small.net("bfs", processor="lazy")


def test_buffers_that_runs_would_lose_are_refused():
    class Normed(algorist.Processor):
        def __init__(self, hidden):
            super().__init__()
            self.norm = nn.BatchNorm1d(hidden)

    PROCESSORS["normed"] = Normed
    with pytest.raises(ValueError, match=r"Normed: got the buffer 'norm.running_mean', expected"):
        small.net("bfs", processor="normed")


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (nn.Linear, "got the class Linear, expected one that is derived from algorist.Processor"),
        (3, "register: got 3, expected what @algorithm"),
        (lambda x: x, "register: got <lambda>\\(x\\), expected"),
    ],
)
def test_what_cannot_be_registered_is_refused(new, message):
    with pytest.raises(ValueError, match=message):
        register(new)


def test_a_name_that_is_taken_is_refused():
    class Gat(algorist.Processor):
        pass

    with pytest.raises(ValueError, match="there is a processor 'gat' already"):
        register(Gat)


def test_a_decoder_without_a_place_is_refused():
    class Lost(algorist.Decoder):
        location = "node"

    register(Lost)
    with pytest.raises(ValueError, match="Lost: got None as its kind, expected one of scalar,"):
        small.net("bfs")


@pytest.mark.parametrize("processor", ["gat", "memnet_full", "mpnn", "counter"])
def test_a_learner_with_any_processor_solves_problems(processor):
    PROCESSORS["counter"] = Counter
    learner = algorist.Learner.new(["bfs"], small.model(processor=processor), small.CONVENTION)
    solution = learner.run("bfs", A={"edges": [(0, 1), (1, 2)]}, s=0)
    assert solution.answer is not None
    large = learner.run("bfs", A={"edges": [(i, i + 1) for i in range(80)]}, s=0)
    assert large.answer is not None
