"""Records what dm-clrs 2.0.3 computes with options of its nets, where that package is installed.

python tests/golden/record_options.py

The problems are those of another record; all parameters are drawn here.
"""

import json
from pathlib import Path

import haiku as hk
import jax
import numpy as np
from clrs._src import losses, nets, probing, processors, samplers, specs

FOLDER = Path(__file__).parent / "model"
RECORDS = {
    "lstm-triplet_gmpnn-dijkstra": ("pgn_mask-dijkstra", "triplet_gmpnn", {"use_lstm": True}),
    "lstm-pgn-lcs_length": ("triplet_gmpnn-lcs_length", "pgn", {"use_lstm": True}),
    "two_steps-triplet_gmpnn-lcs_length": (
        "triplet_gmpnn-lcs_length", "triplet_gmpnn", {"nb_msg_passing_steps": 2},
    ),
    "three_steps-gatv2-dijkstra": ("pgn_mask-dijkstra", "gatv2", {"nb_msg_passing_steps": 3}),
}  # fmt: skip
"""By name: the record with the problems, the processor, and the options."""


def points(meta, arrays, stage):
    """The features of a stage as dm-clrs has them."""
    return [
        probing.DataPoint(
            name=name, location=location, type_=kind,
            data=np.asarray(arrays[f"batch/{stage}/{name}"], np.float32),
        )
        for name, (own, location, kind) in meta["spec"].items()
        if own == stage
    ]  # fmt: skip


def record(source, processor, options):
    with np.load(FOLDER / f"{source}.npz") as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(str(arrays["meta"]))
    inputs, hints, outputs = (points(meta, arrays, s) for s in ("input", "hint", "output"))
    lengths = np.asarray(arrays["batch/lengths"])
    features = samplers.Features(inputs=inputs, hints=hints, lengths=lengths)
    n = arrays["batch/input/pos"].shape[1]
    classes = {point.name: point.data.shape[-1] for point in (*inputs, *hints, *outputs)}
    factory = processors.get_processor_factory(
        processor, use_ln=True, nb_triplet_fts=meta["triplet_features"], nb_heads=meta["heads"]
    )
    settings = {"use_lstm": False, "nb_msg_passing_steps": 1, **options}

    def forward(features):
        net = nets.Net(
            spec=[{name: tuple(kind) for name, kind in meta["spec"].items()}],
            hidden_dim=meta["hidden"], encode_hints=True, decode_hints=True,
            processor_factory=factory, encoder_init="default", dropout_prob=0.0,
            hint_teacher_forcing=0.0, hint_repred_mode="soft", nb_dims=[classes], **settings,
        )  # fmt: skip
        return net([features], repred=False, algorithm_index=0, return_hints=True,
                   return_all_outputs=False)  # fmt: skip

    net = hk.transform(forward)
    key = jax.random.PRNGKey(0)
    parameters = net.init(key, features)
    rng = np.random.RandomState(1)
    parameters = jax.tree_util.tree_map(
        lambda x: x + 0.2 * rng.normal(size=x.shape).astype(np.float32), parameters
    )

    def loss(parameters):
        predicted, hinted = net.apply(parameters, key, features)
        parts = {
            f"output/{truth.name}": losses.output_loss(truth, predicted[truth.name], n)
            for truth in outputs
        }
        for truth in hints:
            predictions = [step[truth.name] for step in hinted]
            parts[f"hint/{truth.name}"] = losses.hint_loss(truth, predictions, lengths, n)
        return sum(parts.values()), (parts, predicted, hinted)

    (total, (parts, predicted, hinted)), gradients = jax.value_and_grad(loss, has_aux=True)(
        parameters
    )
    meta = {**meta, "processor": processor, **options}
    result = {key: value for key, value in arrays.items() if key.startswith("batch/")}
    result |= {f"pred/output/{name}": value for name, value in predicted.items()}
    result |= {f"pred/hint/{name}": np.stack([step[name] for step in hinted]) for name in hinted[0]}
    result |= {f"loss/{name}": value for name, value in parts.items()} | {"loss/total": total}
    for prefix, tree in (("params", parameters), ("grads", gradients)):
        for module, tensors in tree.items():
            result |= {f"{prefix}/{module}/{name}": value for name, value in tensors.items()}
    return {"meta": json.dumps(meta), **{name: np.asarray(x) for name, x in result.items()}}


if __name__ == "__main__":
    assert specs.Stage.INPUT == "input"
    for name, details in RECORDS.items():
        np.savez_compressed(FOLDER / f"{name}.npz", **record(*details))
        print(name)
