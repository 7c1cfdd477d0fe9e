"""Nets on sparse graphs: equal to dense ones, trained by the same loop, scored and asked."""

import csv
import json

import networkx as nx
import numpy as np
import pytest
import torch

from algorist.algorithms import SALSA, algorithms, get
from algorist.algorithms.graph_families import sample_sparse
from algorist.batch import Batch
from algorist.cli import main
from algorist.data.sparse import sparse_set
from algorist.evaluation.sparse import evaluate_sparse
from algorist.model.learner import Learner, TaskEncoding, read
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_window
from algorist.model.net import Net
from algorist.model.processors.links import Segments
from algorist.model.sparse.inference import predict_sparse
from algorist.model.sparse.window import sparse_window
from algorist.sparse_scores import score_sparse
from algorist.spec import Kind, Location
from algorist.training.config import change_settings
from algorist.training.recipes import recipe
from algorist.training.run import Run

SPARSE = ["pgn", "pgn_mask", "gpgn_mask", "gin", "recgnn"]
SMALL = {"hidden": 16, "steps": 4, "validate_every": 2, "batch_size": 3, "sizes": (4, 7)}


def dense_batch(batch):
    """The same problems with all pairs of nodes laid out."""
    declared, n = get(batch.algorithm), batch.graphs.n
    traces = []
    for g in range(len(batch)):
        own = slice(g * n, (g + 1) * n)
        nodes = [f.name for f in declared.spec.inputs if f.location == Location.NODE]
        inputs = {name: batch.inputs[name][own] for name in nodes}
        traces.append(declared.trace(A=batch.graphs.matrix(g), **inputs))
    return Batch.joined(traces).single_precision()


def double(window):
    return window.map(lambda x: x.double() if x.dtype == torch.float32 else x)


def losses(net, name, window):
    with torch.no_grad():
        rollout = net.rollout(name, double(window))
        return feature_losses(net.specs[name], rollout, double(window))


@pytest.mark.parametrize("processor", ["pgn_mask", "gpgn_mask", "gin", "recgnn"])
@pytest.mark.parametrize("name", algorithms(SALSA))
@pytest.mark.parametrize("forced", [False, True])
def test_sparse_nets_compute_what_dense_ones_do(name, processor, forced):
    """All losses but those of pointers, which know the other nodes only where all are laid out."""
    batch = sample_sparse(get(name), "er", 7, 3, seed=1, train=True)
    net = Net([name], processor=processor, hidden=8, seed=0, feedback="hard", pointer_reversal=True)
    net.kernels = "plain"
    net.double()
    dense, sparse = make_window([dense_batch(batch)]), sparse_window([batch])
    if forced:
        dense, sparse = (w.with_forced(np.ones(w.follows.shape, bool)) for w in (dense, sparse))
    expected, got = losses(net, name, dense), losses(net, name, sparse)
    for feature, value in expected.items():
        if net.specs[name][feature].kind != Kind.POINTER:
            torch.testing.assert_close(got[feature], value, msg=feature)
        else:
            assert got[feature] <= value  # of fewer choices one is right


@pytest.mark.parametrize("name", ["bfs", "dijkstra", "eccentricity"])
def test_folded_steps_have_the_same_losses_and_gradients(name):
    batches = [sample_sparse(get(name), "er", 6, 3, seed=s, train=True) for s in (1, 2)]
    net = Net([name], processor="pgn", hidden=8, replicas=2, seed=0, carry_state=False)
    found = []
    for fold in (False, True):
        window = sparse_window(batches, fold=fold)
        if not fold:
            window = window.with_forced(np.ones(window.follows.shape, bool))
        net.zero_grad()
        parts = feature_losses(net.specs[name], net.rollout(name, window), window)
        sum(parts.values()).sum().backward()
        found.append({**parts, **{n: p.grad for n, p in net.named_parameters()}})
    for part, value in found[0].items():
        torch.testing.assert_close(found[1][part], value, rtol=1e-4, atol=1e-5, msg=part)


def test_replicas_do_not_depend_on_each_other():
    batches = [sample_sparse(get("mst_prim"), "er", 6, 3, seed=s) for s in (1, 2)]
    net = Net(["mst_prim"], processor="pgn", hidden=8, replicas=2, seed=0)
    learner = Learner(net)
    both = feature_losses(
        net.specs["mst_prim"],
        net.rollout("mst_prim", sparse_window(batches)),
        sparse_window(batches),
    )
    for replica, batch in enumerate(batches):
        own, window = learner.replica(replica).net, sparse_window([batch])
        alone = feature_losses(own.specs["mst_prim"], own.rollout("mst_prim", window), window)
        for part, value in alone.items():
            torch.testing.assert_close(both[part][replica], value[0], rtol=1e-4, atol=1e-5)


def test_segments():
    segments = Segments(torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]]), 2)
    logits = torch.tensor([[1.0, 2.0, 5.0, 5.0, 4.0], [0.0, 1.0, 3.0, 2.0, 3.0]])
    assert segments.argmax(logits).tolist() == [[1, 2], [0, 2]]
    sums = segments.sum(segments.log_softmax(logits).exp().unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(sums, torch.ones(2, 2))
    values = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(segments.max, values)


def test_long_runs_are_predicted_in_pieces(monkeypatch):
    batch = sparse_set("mst_prim", "er_16", 5)
    net = Net(["mst_prim"], processor="pgn", hidden=8, seed=0)
    learner = Learner(net)
    (whole_run,) = predict_sparse(learner, "mst_prim", batch)
    monkeypatch.setattr("algorist.model.sparse.inference._PIECE", 3)
    monkeypatch.setattr("algorist.model.sparse.inference._MOST_PAIRS", 150)
    (pieces,) = predict_sparse(learner, "mst_prim", batch)
    np.testing.assert_array_equal(whole_run["pi"], pieces["pi"])


def test_processors_and_algorithms_that_need_all_pairs_are_refused():
    with pytest.raises(ValueError, match="got triplet_mpnn, which does not run on sparse graphs"):
        Net(["bfs"], processor="triplet_mpnn", encoding=TaskEncoding(sparse=True))
    with pytest.raises(ValueError, match="floyd_warshall: it does not run on sparse graphs"):
        recipe("salsa2023", ["floyd_warshall"]).convention.spec("floyd_warshall")
    with pytest.raises(ValueError, match="chunk: got 4, but sparse nets know only 0"):
        change_settings(recipe("salsa2023", ["bfs"]), chunk=4)
    with pytest.raises(ValueError, match="conditional_hints: got True, but sparse nets know only"):
        change_settings(recipe("salsa2023", ["bfs"]), conditional_hints=True)
    with pytest.raises(ValueError, match="unknown family of graphs 'tree'"):
        change_settings(recipe("salsa2023", ["bfs"]), graph_family="er+tree")


@pytest.mark.parametrize("settings", [{}, {"teacher_forcing": 0.5, "carry_state": True}])
def test_a_run_is_trained_and_resumed_exactly(tmp_path, settings):
    from dataclasses import replace

    config = change_settings(recipe("salsa2023", ["bfs", "eccentricity"]), **{**SMALL, **settings})
    config = replace(config, seeds=(0, 1))
    Run.start(tmp_path / "whole", config).train()
    stopped = Run.start(tmp_path / "stopped", config)
    stopped.train(should_stop=lambda: stopped.trainer.step >= 2)
    Run.resume(tmp_path / "stopped").train()
    there, here = (read(tmp_path / name / "best.safetensors") for name in ("whole", "stopped"))
    assert there.encoding.sparse
    for name, weights in there.net.state_dict().items():
        assert torch.equal(weights, here.net.state_dict()[name]), name


@pytest.mark.parametrize("processor", SPARSE)
def test_every_sparse_processor_learns(tmp_path, processor):
    config = change_settings(recipe("salsa2023", ["bfs"]), **SMALL, processor=processor, average=0)
    run = Run.start(tmp_path / "run", config)
    before = {name: p.clone() for name, p in run.trainer.net.named_parameters()}
    run.train()
    after = dict(run.trainer.net.named_parameters())
    assert all(not torch.equal(before[name], after[name]) for name in before if "edge" in name)


def test_scores_are_those_of_salsa():
    batch = sparse_set("bfs", "er_16", 4)
    right = score_sparse(batch.outputs, batch)
    assert (right.node_accuracy, right.graph_accuracy, right.squared_error) == (1, 1, None)
    wrong = {"pi": batch.outputs["pi"].copy()}
    wrong["pi"][3] = (wrong["pi"][3] + 1) % 16
    scores = score_sparse(wrong, batch)
    assert scores.node_accuracy == pytest.approx(1 - 1 / 64)
    assert scores.graph_accuracy == 0.75
    numbers = sparse_set("eccentricity", "er_16", 4)
    near = score_sparse({"eccentricity": numbers.outputs["eccentricity"] + 0.4}, numbers)
    assert near.node_accuracy is None
    assert near.graph_accuracy == near.quality == 1
    assert near.squared_error == pytest.approx(0.16)


@pytest.fixture
def learner(tmp_path):
    config = recipe("salsa2023", ["bfs"])
    made = Learner.new(["bfs"], config.model, config.convention, (0, 1))
    made.save(tmp_path / "net.safetensors")
    return str(tmp_path / "net.safetensors")


def test_eval_prints_a_table_and_keeps_results(learner, tmp_path, capsys):
    options = ["--n", "16,20", "--graphs", "er,delaunay", "--count", "2"]
    kept = ["--results", str(tmp_path / "results"), "--plot", str(tmp_path / "plot.svg")]
    assert main(["eval", learner, *options, *kept]) == 0
    printed = capsys.readouterr().out
    assert "bfs er" in printed
    assert "n = 20" in printed
    assert (tmp_path / "plot.svg").read_text().count("delaunay")
    with (tmp_path / "results" / "sparse.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 2
    assert {row["graphs"] for row in rows} == {"er", "delaunay"}
    assert main(["eval", learner, *options, "--json"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)
    assert 0 <= first["replicas"][0]["node_accuracy"] <= 1


def test_eval_says_what_sparse_graphs_lack(learner, capsys):
    for options, message in (
        (["--graphs", "er"], "got no sizes, expected --n too"),
        (["--graphs", "er,tree", "--n", "16"], "unknown family of graphs 'tree'"),
        (["--graphs", "er", "--n", "16", "--hints"], "--hints: sparse graphs have none"),
    ):
        assert main(["eval", learner, *options]) == 2
        assert message in " ".join(capsys.readouterr().err.split())


def test_run_answers_in_the_names_of_the_graph(learner, tmp_path, capsys):
    edges = tmp_path / "edges.csv"
    edges.write_text("a,b\nb,c\nc,d\na,d\n")
    command = ["run", "bfs", "--graph", str(edges), "--source", "a", "--model", learner]
    assert main([*command, "--json"]) == 0
    solution = json.loads(capsys.readouterr().out)
    assert solution["true_answer"] == {"a": "a", "b": "a", "c": "b", "d": "a"}
    assert solution["read"] == "4 nodes, 4 undirected edges"
    neighbours = {"a": "abd", "b": "abc", "c": "bcd", "d": "acd"}
    assert all(parent in neighbours[node] for node, parent in solution["answer"].items())
    assert main(command) == 0
    assert "of the nodes are as the algorithm has them" in capsys.readouterr().out
    assert main([*command, "--steps"]) == 2
    assert main([*command[:5], "x", "--model", learner]) == 2


def test_large_graphs_of_users(learner):
    graph = nx.gnm_random_graph(2000, 8000, seed=0)
    solution = read(learner).run_sparse("bfs", A=graph, s=3)
    assert solution.read == "2000 nodes, 8000 undirected edges"
    assert set(solution.answer) == set(graph)
    assert 0 < solution.evaluation.node_accuracy <= 1
    with pytest.raises(ValueError, match="s: got 2000, expected a node"):
        read(learner).run_sparse("bfs", A=graph, s=2000)


def test_directed_edges_lead_one_way(learner):
    solution = read(learner).run_sparse("bfs", A=[("a", "b"), ("c", "b")], s="a", directed=True)
    assert solution.true_answer == {"a": "a", "b": "a", "c": "c"}
    net = Net(["mst_prim"], processor="pgn", hidden=8, seed=0)
    with pytest.raises(ValueError, match="expected an undirected graph"):
        Learner(net).run_sparse(
            "mst_prim", A=[("a", "b", 1.0), ("b", "a", 2.0)], s="a", directed=True
        )


def test_evaluation_of_untrained_nets_has_a_score_for_each_replica():
    net = Net(["dfs"], processor="gin", hidden=8, replicas=2, seed=0)
    found = evaluate_sparse(Learner(net), "dfs", sparse_set("dfs", "ws_16", 2))
    assert len(found) == 2
