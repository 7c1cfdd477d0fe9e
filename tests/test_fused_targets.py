"""True values as steps read them, against their meaning in the table of kinds."""

import pytest
import torch
from small import DEVICE, ON_GPU
from torch import Tensor

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels.fused.targets import Targets, code, write
from algorist.model.feature_values import one_hot_values, raw_numbers, raw_width
from algorist.model.kinds import TABLE, row
from algorist.model.packed_values import PackedValues
from algorist.model.window import unsqueeze_like
from algorist.spec import MASKED, Feature, Kind, Location, Stage

SIZES = [1, 4, 17] + ([16, 23, 64, 80] if ON_GPU else [])

FEATURES = [
    Feature(f"{location}_{kind}_{classes}", Stage.HINT, location, kind, classes)
    for location, kind in TABLE
    if kind != Kind.GATED_SCALAR  # which the fused scan does not know
    for classes in ((2, 5) if kind == Kind.CATEGORICAL else (0,))
]


def drawn(feature: Feature, *shape: int) -> Tensor:
    n = shape[-1]
    shape = (*shape[:-1], *feature.shape(n))
    if feature.kind == Kind.SCALAR:
        return torch.randn(shape)
    low, high = (0, n) if feature.kind == Kind.POINTER else (MASKED, 2)
    return torch.randint(low, high, shape)


def in_plain_words(targets: dict[str, Tensor], n: int) -> tuple[Tensor, Tensor]:
    """What nodes and graph, and what edges read, of the features in their order."""
    numbers = {Location.NODE: [], Location.EDGE: []}
    values = one_hot_values(FEATURES, targets, n)
    for feature in FEATURES:
        value = raw_numbers(feature, values[feature.name])
        encode_location = row(feature).decoder_type.encode_location
        if encode_location == Location.GRAPH:
            value = value.unsqueeze(-2).expand(*value.shape[:-1], n, -1)
        numbers[Location.EDGE if encode_location == Location.EDGE else Location.NODE].append(value)
    return tuple(torch.cat(values, -1).to(DEVICE) for values in numbers.values())


def table(values: PackedValues) -> Tensor:
    ends, rows = {Location.NODE: 0, Location.EDGE: 0}, []
    for f in FEATURES:
        location = (
            Location.EDGE if row(f).decoder_type.encode_location == Location.EDGE else Location.NODE
        )
        rows.append((code(f), ends[location], f.classes or 1, values.slices[f.name].start))
        ends[location] += raw_width(f)
    return torch.tensor(rows, dtype=torch.int32, device=DEVICE)


def written(
    values: PackedValues, like: tuple[Tensor, Tensor], given: Tensor | None
) -> list[Tensor]:
    """What the kernel makes of values, and 7 where it writes nothing."""
    x, raw = (torch.full_like(numbers, 7.0) for numbers in like)
    targets = Targets(*(part.to(DEVICE) for part in values.parts))
    write(table(values), targets, x, raw, given)
    return [x, raw]


def made(n: int, *lanes: int) -> tuple[dict[str, Tensor], PackedValues]:
    torch.manual_seed(n)
    targets = {f.name: drawn(f, *lanes, n) for f in FEATURES}
    replicas = [
        {name: x.select(len(lanes) - 2, s).numpy() for name, x in targets.items()}
        for s in range(lanes[-2])
    ]
    return targets, PackedValues.of(FEATURES, replicas, lanes)


@pytest.mark.parametrize("n", SIZES)
def test_every_kind_of_feature_is_written_where_it_is_given(n):
    K, S, B = (2, 2, 3) if n < 16 else (1, 1, 2)
    targets, values = made(n, K + 1, S, B)
    given = (torch.arange(K * S * B).view(K, S, B) % 2 == 0).to(DEVICE)
    expected = in_plain_words({name: truth[:-1] for name, truth in targets.items()}, n)
    for got, true in zip(written(values, expected, given), expected, strict=True):
        torch.testing.assert_close(got, torch.where(unsqueeze_like(given, true), true, 7.0))


def test_values_without_steps_are_written_at_every_step():
    targets, values = made(4, 2, 3)
    at_step = in_plain_words(targets, 4)
    expected = tuple(numbers.expand(3, *numbers.shape).contiguous() for numbers in at_step)
    for got, true in zip(written(values, expected, None), expected, strict=True):
        torch.testing.assert_close(got, true)
