"""Our nets against recordings of the benchmark's: predictions, losses, gradients and scores."""

import json

import golden
import golden_records
import numpy as np
import pytest
import torch
from small import DEVICE, ON_GPU

from algorist.evaluation.metrics import score
from algorist.model.net import Net
from algorist.model.postprocessing import decide, permutations_to_pointers

FOLDER = golden_records.FOLDER / "model"
RECORDED = sorted(FOLDER.glob("*.npz"))
SCORES = json.loads((FOLDER / "scores.json").read_text())
ROUNDING = 1e-6  # gradients that cancel are only zero up to rounding

by_name = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
scored = pytest.mark.parametrize("name", SCORES)


def assert_close(got, expected, key, floor):
    assert got.shape == expected.shape, key
    scale = max(np.abs(expected).max(), floor)
    assert np.abs(got - expected).max() <= 1e-3 * scale, key


def assert_is_the_benchmarks(path, device="cpu"):
    """Predictions, losses and gradients."""
    expected = {
        key: array
        for key, array in golden.read(path)[1].items()
        if key.startswith(("pred/", "loss/", "grads/"))
    }
    got = golden.replay(path, device)
    assert got.keys() == expected.keys()
    largest = max(np.abs(a).max() for key, a in expected.items() if key.startswith("grads/"))
    for key, array in expected.items():
        floor = ROUNDING / 1e-3 * largest if key.startswith("grads/") else 0.0
        assert_close(got[key], array, key, floor)


@by_name
def test_predictions_losses_and_gradients_are_the_benchmarks(path):
    assert_is_the_benchmarks(path)


def test_plain_kernels_compute_the_benchmarks_network(monkeypatch):
    monkeypatch.setattr(Net, "kernels", "plain")
    assert_is_the_benchmarks(FOLDER / "triplet_gmpnn-lcs_length.npz")


FUSED = ["triplet_gmpnn-segments_intersect"]
if ON_GPU:
    FUSED += ["triplet_gmpnn-lcs_length"]


@pytest.mark.parametrize("name", FUSED)
def test_fused_kernels_compute_the_benchmarks_network(name, monkeypatch):
    pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")
    monkeypatch.setattr(Net, "kernels", "fused")
    assert_is_the_benchmarks(FOLDER / f"{name}.npz", DEVICE)


@scored
def test_scores_are_the_benchmarks(name):
    path = FOLDER / f"{name}.npz"
    meta, arrays = golden.read(path)
    batch, got = golden.batch_of(meta, arrays), golden.replay(path)
    raw = {f: torch.from_numpy(got[f"pred/output/{f.name}"]) for f in batch.spec.outputs}
    answers = {feature.name: decide(feature, x).numpy() for feature, x in raw.items()}
    spec, truths = permutations_to_pointers(batch.spec, batch.outputs)
    answers = permutations_to_pointers(batch.spec, answers)[1]
    scores = {f.name: score(f.kind, answers[f.name], truths[f.name]) for f in spec.outputs}
    scores["score"] = np.mean(list(scores.values()))
    assert scores == pytest.approx(SCORES[path.stem])


def test_every_record_is_of_the_stock_net_and_scored_or_of_an_option():
    options = {path.stem for path in RECORDED if {"use_lstm", "nb_msg_passing_steps"}
               & golden.read(path)[0].keys()}  # fmt: skip
    assert len(options) == 4
    assert {path.stem for path in RECORDED} - options == SCORES.keys()
