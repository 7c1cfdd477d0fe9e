"""The vocabulary, and the specs of the thirty against the benchmark's."""

import golden_records as golden
import pytest

import algorist
from algorist import Kind, Location, Spec, Stage, edge, graph, node
from algorist.spec import Feature

RECORDED = golden.names("data")


@pytest.mark.parametrize("name", RECORDED)
def test_specs_are_the_benchmarks(name):
    features = golden.SPECS[name]["features"]
    for stage in Stage:
        ours = [
            [feature.name, feature.stage, feature.location, feature.kind]
            for feature in algorist.get(name).spec.at(stage)
        ]
        assert ours == [feature for feature in features if feature[1] == stage]


@pytest.mark.parametrize("name", RECORDED)
def test_shapes_and_classes_are_the_recorded_ones(name):
    record = golden.load("data", name)
    n = record["val/input/pos"].shape[1]
    for feature in algorist.get(name).spec:
        shape = record[f"val/{feature.stage}/{feature.name}"].shape
        leading = 2 if feature.stage == Stage.HINT else 1
        assert shape[leading:] == feature.shape(n), feature


@pytest.mark.parametrize("name", RECORDED)
def test_protocols_are_the_benchmarks(name):
    algorithm = algorist.get(name)
    assert algorithm.eval_multiplier == golden.SPECS[name]["eval_multiplier"]
    assert algorithm.train_options == golden.train_options(name)
    expected = (20, 80) if name in golden.MATCHERS else (16, 64)
    assert (algorithm.size(16), algorithm.size(64)) == expected


@pytest.mark.parametrize("name", RECORDED)
def test_batches_have_the_shapes_of_their_spec_and_compact_types(name):
    algorithm = algorist.get(name)
    batch = algorithm.sample(algorithm.size(8), 3, 0)
    sizes = {Kind.SCALAR: 8, Kind.POINTER: 2, Kind.SHOULD_BE_PERMUTATION: 2}
    for feature in algorithm.spec:
        array = batch.at(feature.stage)[feature.name]
        leading = (batch.steps, 3) if feature.stage == Stage.HINT else (3,)
        assert array.shape == (*leading, *feature.shape(batch.n)), feature
        assert array.dtype.itemsize == sizes.get(feature.kind, 1), feature


def test_a_spec_keeps_the_order_and_finds_features_by_name():
    spec = Spec.of(
        inputs={"pos": node.scalar, "A": edge.scalar},
        hints={"color": node.categorical(3), "time": graph.scalar},
        outputs={"pi": node.pointer},
    )
    assert [feature.name for feature in spec] == ["pos", "A", "color", "time", "pi"]
    assert spec["color"].shape(5) == (5, 3)
    assert spec["A"].shape(5) == (5, 5)
    assert spec["time"].shape(5) == ()
    assert "pi" in spec
    assert "d" not in spec


def test_features_move_and_are_replaced_in_their_place():
    spec = Spec.of(
        inputs={"pos": node.scalar}, hints={"a": node.mask, "b_h": node.pointer}, outputs={}
    )
    moved = spec.moved("b_h", Stage.INPUT, to="b")
    assert [feature.name for feature in moved.inputs] == ["pos", "b"]
    assert moved["b"].kind == Kind.POINTER
    other = Feature("c", Stage.HINT, Location.NODE, Kind.MASK)
    assert [f.name for f in spec.replaced("a", other).hints] == ["c", "b_h"]


@pytest.mark.parametrize("name", ["", "a.b", "a b", "1st", "x-y", "x_"])
def test_features_have_names_that_parameters_can_have(name):
    message = f"feature: got the name {name!r}, expected letters, digits and underscores"
    with pytest.raises(ValueError, match=message):
        Spec.of(inputs={name: node.scalar}, hints={}, outputs={})


def test_bad_specs_are_refused():
    with pytest.raises(ValueError, match="got x more than once"):
        Spec.of(inputs={"x": node.scalar}, hints={}, outputs={"x": node.mask})
    with pytest.raises(ValueError, match="categorical features need 2 classes or more"):
        Feature("color", Stage.HINT, Location.NODE, Kind.CATEGORICAL, 1)
    with pytest.raises(ValueError, match="others have none"):
        Feature("color", Stage.HINT, Location.NODE, Kind.MASK, 3)
