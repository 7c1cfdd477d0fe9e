"""Contracts of the net: every processor, every algorithm, every way to use hints."""

from dataclasses import replace

import numpy as np
import pytest
import small
import torch

import algorist
from algorist.model.kinds import row
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_window
from algorist.model.net import ModelConfig
from algorist.model.processors import PROCESSORS
from algorist.model.window import Window
from algorist.spec import Feature, Kind, Location, Stage

every_processor = pytest.mark.parametrize("processor", PROCESSORS)
HINT_USES = [
    {"hints": "encoded_decoded", "feedback": "soft"},
    {"hints": "encoded_decoded", "feedback": "hard"},
    {"hints": "encoded_decoded", "feedback": "hard_on_eval"},
    {"hints": "decoded_only"},
    {"hints": "none"},
]


def losses_and_gradients(net, algorithm, window):
    """The parts of the loss after a backward pass."""
    parts = feature_losses(net.specs[algorithm], net.rollout(algorithm, window), window)
    sum(parts.values()).sum().backward()
    return parts


def assert_all_finite(tensors):
    for name, tensor in tensors.items():
        assert tensor is not None, name
        assert torch.isfinite(tensor).all(), name


@every_processor
@pytest.mark.parametrize("algorithm", ["dijkstra", "insertion_sort"])
def test_the_same_weights_serve_any_size(processor, algorithm):
    net = small.lively(small.net(algorithm, processor=processor))
    for n in (4, 7, 20):
        batch = small.problems(algorithm, n=n, count=2)
        rollout = net.rollout(algorithm, make_window([batch]))
        for feature in net.specs[algorithm].hints:
            shape = (batch.steps - 1, 1, 2, *small.prediction_shape(feature, n))
            assert rollout.hints[feature.name].shape == shape
        for feature in net.specs[algorithm].outputs:
            shape = (1, 2, *small.prediction_shape(feature, n))
            assert rollout.outputs[feature.name].shape == shape
        assert_all_finite({**rollout.hints, **rollout.outputs})


@every_processor
@pytest.mark.parametrize("algorithm", ["dijkstra", "insertion_sort"])
def test_gradients_reach_every_parameter(processor, algorithm):
    net = small.lively(small.net(algorithm, processor=processor))
    losses_and_gradients(net, algorithm, make_window([small.problems(algorithm)]))
    gradients = {name: parameter.grad for name, parameter in net.named_parameters()}
    assert_all_finite(gradients)
    # There are no features of the graph, and what is added to all scores changes no choice.
    choices = [f.name for f in net.specs[algorithm] if f.kind == Kind.MASK_ONE]
    idle = ("processor.graph.weight", "processor.triplet_graph.weight", ".score.bias",
            *(f".{name}.value.bias" for name in choices))  # fmt: skip
    for name, gradient in gradients.items():
        assert gradient.any() or name.endswith(idle), name


@pytest.mark.parametrize("processor", ["triplet_gmpnn", "gatv2"])
def test_states_are_normalised_unless_switched_off(processor):
    batch = small.problems("bfs")
    normal, plain = (
        small.lively(small.net("bfs", processor=processor, layer_norm=layer_norm))
        for layer_norm in (True, False)
    )
    assert set(dict(normal.named_parameters())) - set(dict(plain.named_parameters())) == {
        "processor.norm.scale",
        "processor.norm.offset",
    }
    assert_all_finite(small.rolled(plain, "bfs", batch))


@every_processor
def test_a_sample_does_not_depend_on_its_batch_mates(processor):
    net = small.lively(small.net("bfs", processor=processor))
    batch = small.problems("bfs", n=7, count=6)
    assert len(set(batch.lengths)) > 1
    together = small.rolled(net, "bfs", batch)
    for sample, length in enumerate(batch.lengths):
        alone = small.rolled(net, "bfs", batch.take(np.array([sample])))
        expected = {
            f.name: together[f.name][: length - 1, :, [sample]]
            if f.stage == Stage.HINT
            else together[f.name][:, [sample]]
            for f in net.specs["bfs"]
            if f.stage != Stage.INPUT
        }
        small.assert_same(alone, expected)


@every_processor
def test_padded_steps_change_nothing(processor):
    net = small.lively(small.net("insertion_sort", processor=processor))
    window = make_window([small.problems("insertion_sort")])
    longer = make_window([small.problems("insertion_sort")], steps=window.steps + 3)
    assert longer.steps == window.steps + 3
    expected = losses_and_gradients(net, "insertion_sort", window)
    gradients = {name: p.grad.clone() for name, p in net.named_parameters()}
    net.zero_grad()
    got = losses_and_gradients(net, "insertion_sort", longer)
    small.assert_same(got, expected)
    small.assert_same({name: p.grad for name, p in net.named_parameters()}, gradients)


@pytest.mark.parametrize("processor", [name for name in PROCESSORS if "memnet" not in name])
@pytest.mark.parametrize("algorithm", ["dijkstra", "insertion_sort", "matrix_chain_order"])
def test_reordered_nodes_are_answered_in_the_new_order(processor, algorithm):
    """Not so for memory networks: each of their slots has weights of its own."""
    net = small.lively(small.net(algorithm, processor=processor))
    batch = small.problems(algorithm, n=5)
    order = np.random.RandomState(3).permutation(batch.n)
    stages = {
        stage: {
            f.name: small.reordered(f, batch.at(stage)[f.name], order) for f in batch.spec.at(stage)
        }
        for stage in Stage
    }
    moved = algorist.Batch(batch.spec, *stages.values(), batch.lengths)
    expected = {
        name: torch.from_numpy(
            small.reordered(batch.spec[name], value.numpy(), order, prediction=True)
        )
        for name, value in small.rolled(net, algorithm, batch).items()
    }
    small.assert_same(small.rolled(net, algorithm, moved), expected, 1e-4)


@pytest.mark.parametrize("use", HINT_USES, ids=lambda use: "-".join(use.values()))
@pytest.mark.parametrize("algorithm", algorist.algorithms())
def test_every_algorithm_learns_with_every_use_of_hints(algorithm, use):
    net = small.net(algorithm, **use)
    spec = net.specs[algorithm]
    parts = losses_and_gradients(
        net, algorithm, make_window([small.problems(algorithm, n=5, count=2)])
    )
    watched = () if use["hints"] == "none" else spec.hints
    assert set(parts) == {feature.name for feature in (*spec.outputs, *watched)}
    assert_all_finite(parts)
    reads_edges = any(
        "edge" in row(feature).decoder_type.layer_inputs for feature in net.decoded_features(spec)
    )
    learnt = {
        name: parameter.grad
        for name, parameter in net.named_parameters()
        if reads_edges or "triplet" not in name  # decoders of edges alone read the triplets
    }
    assert_all_finite(learnt)


def with_other_hints(batch, moments):
    """The batch with the true hints of the given moments replaced by nonsense."""
    hints = {name: array.copy() for name, array in batch.hints.items()}
    for array in hints.values():
        array[moments] = 1 - array[moments].clip(0, 1)
    return replace(batch, hints=hints)


def differ(one, other):
    return any(not torch.allclose(one[name], other[name], atol=1e-3) for name in one)


def test_of_the_true_hints_only_the_first_are_read():
    net = small.lively(small.net("dijkstra"))
    batch = small.problems("dijkstra")
    expected = small.rolled(net, "dijkstra", batch)
    later = with_other_hints(batch, slice(1, None))
    small.assert_same(small.rolled(net, "dijkstra", later), expected)
    first = with_other_hints(batch, slice(0, 1))
    assert differ(small.rolled(net, "dijkstra", first), expected)


@pytest.mark.parametrize("hints", ["decoded_only", "none"])
def test_no_true_hint_is_read_where_hints_are_not_encoded(hints):
    net = small.lively(small.net("dijkstra", hints=hints))
    batch = small.problems("dijkstra")
    expected = small.rolled(net, "dijkstra", batch)
    changed = with_other_hints(batch, slice(None))
    small.assert_same(small.rolled(net, "dijkstra", changed), expected)


def test_forced_samples_read_the_true_hints():
    net = small.lively(small.net("dijkstra"))
    batch = small.problems("dijkstra", count=2)
    other = with_other_hints(batch, slice(1, None))
    forced = np.zeros((batch.steps - 1, 1, 2), bool)
    forced[:, :, 0] = True  # the first sample alone

    def outputs(batch):
        return net.rollout("dijkstra", make_window([batch]).with_forced(forced)).outputs["pi"]

    with_truth, with_nonsense = outputs(batch), outputs(other)
    assert not torch.allclose(with_truth[:, 0], with_nonsense[:, 0], atol=1e-3)
    torch.testing.assert_close(with_truth[:, 1], with_nonsense[:, 1])


def test_hard_on_eval_is_soft_in_training_and_hard_in_evaluation():
    batch = small.problems("dijkstra")
    nets = {
        feedback: small.lively(small.net("dijkstra", feedback=feedback))
        for feedback in ("soft", "hard", "hard_on_eval")
    }
    soft = small.rolled(nets["soft"], "dijkstra", batch)
    hard = small.rolled(nets["hard"], "dijkstra", batch)
    assert differ(soft, hard)
    small.assert_same(small.rolled(nets["hard_on_eval"].train(), "dijkstra", batch), soft)
    small.assert_same(small.rolled(nets["hard_on_eval"].eval(), "dijkstra", batch), hard)


@pytest.mark.parametrize("processor", ["triplet_gmpnn", "gatv2", "pgn_mask", "memnet_masked"])
@pytest.mark.parametrize("algorithm", ["bfs", "insertion_sort"])
def test_replicas_predict_as_single_nets_with_their_seeds(algorithm, processor):
    batches = [small.problems(algorithm, seed=seed) for seed in range(3)]
    together = small.net(algorithm, seeds=(0, 1, 2), processor=processor)
    predictions = small.rolled(together, algorithm, *batches)
    for seed, batch in enumerate(batches):
        alone = small.net(algorithm, seeds=(seed,), processor=processor)
        expected = small.rolled(alone, algorithm, batch)
        for feature in alone.decoded_features(alone.specs[algorithm]):
            got = predictions[feature.name]
            if feature.stage == Stage.HINT:
                got = got[: len(expected[feature.name]), [seed]]
            else:
                got = got[[seed]]
            torch.testing.assert_close(got, expected[feature.name], rtol=1e-5, atol=1e-5)


def test_seeds_make_different_weights_and_the_same_seed_the_same():
    net = small.net("bfs", seeds=(4, 5, 4))
    weight = net.processor.first.weight
    assert torch.equal(weight[0], weight[2])
    assert not torch.allclose(weight[0], weight[1])


def test_scalar_hints_start_small_and_all_else_with_unit_variance_per_input():
    net = small.net("dijkstra", hidden=256, scalar_hint_init="xavier")
    default = small.net("dijkstra", hidden=256, scalar_hint_init="default")
    cut = 0.88  # the standard deviation of a normal cut at two of its own
    encoders, others = net.encoders["dijkstra"], default.encoders["dijkstra"]
    assert encoders["d"].weight.std().item() == pytest.approx(cut / 16, rel=0.2)
    assert others["d"].weight.std().item() == pytest.approx(cut, rel=0.2)
    assert encoders["A"].weight.std().item() == pytest.approx(cut, rel=0.2)
    assert net.processor.first.weight.std().item() == pytest.approx(cut / 16, rel=0.1)
    assert net.processor.first.weight.abs().max() <= 2 / 16
    assert torch.equal(net.processor.gate.bias, torch.full((1, 256), -3.0))


def test_the_table_covers_every_feature_of_every_algorithm():
    pairs = {
        (f.location, f.kind) for name in algorist.algorithms() for f in small.CONVENTION.spec(name)
    }
    assert len(pairs) == 13
    for location, kind in pairs:
        row(Feature("x", Stage.HINT, location, kind, 2 if kind == Kind.CATEGORICAL else 0))


def test_a_feature_that_no_row_reads_is_refused_by_name():
    feature = Feature("x", Stage.HINT, Location.GRAPH, Kind.POINTER)
    with pytest.raises(ValueError, match="feature 'x': no model reads graph pointer"):
        row(feature)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"processor": "mpn"}, "unknown processor 'mpn': did you mean 'mpnn'"),
        ({"hints": "all"}, "unknown hints 'all'"),
        ({"feedback": "sof"}, "unknown feedback 'sof': did you mean 'soft'"),
        ({"scalar_hint_init": "lecun"}, "unknown scalar_hint_init"),
        ({"hidden": 0}, "hidden: got 0, expected 1 or more"),
        ({"heads": 0}, "heads: got 0, expected 1 or more"),
        ({"triplet_features": -1}, "triplet_features: got -1, expected 1 or more"),
    ],
)
def test_a_model_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**settings)


def test_heads_must_divide_the_hidden_size():
    with pytest.raises(ValueError, match="heads: got 3, expected a divisor of the hidden size 16"):
        small.net("bfs", processor="gat", heads=3)


def test_a_memory_network_says_how_many_nodes_it_holds():
    net = small.net("minimum", processor="memnet_full")
    with pytest.raises(ValueError, match="at most 127 nodes"):
        net.rollout("minimum", make_window([small.problems("minimum", n=128, count=1)]))


def test_an_algorithm_that_the_net_does_not_know_is_refused_by_name():
    window = make_window([small.problems("dfs")])
    with pytest.raises(
        ValueError, match="unknown algorithm for this net 'dfs': did you mean 'bfs'"
    ):
        small.net("bfs").rollout("dfs", window)


def test_a_window_moves_to_another_device_with_all_it_holds():
    window = make_window([small.problems("insertion_sort")])
    noise = np.zeros((1, 3, 6, 6), np.float32)
    moved = window.with_noise(noise).with_forced(np.ones((window.steps, 1, 3), bool)).to("meta")
    assert isinstance(moved, Window)
    tensors = [*moved.inputs.values(), *moved.hints.values(), *moved.outputs.values()]
    tensors += [moved.follows, *moved.ends, moved.end_weights, moved.noise, moved.forced]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert moved.is_first is None
