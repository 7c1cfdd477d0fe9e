"""Products over stacks against plain ones."""

import pytest
import torch
from small import DEVICE
from torch import einsum
from torch.testing import assert_close

pytest.importorskip("triton")
from algorist.kernels.fused.gradients import Gradients

K, B, N, H, F = 3, 2, 5, 16, 3


def some(*shape):
    return torch.randn(*shape, device=DEVICE)


def made(*args, **options):
    """One product, alone."""
    gradients = Gradients("ieee")
    result = gradients.want(*args, **options).fill_(torch.nan)
    gradients.make()
    return result


def close(got, expected):
    assert_close(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("S", "features"), [(1, None), (1, 0), (3, F), (1, 20)])
def test_a_result_has_rows_of_the_narrow_input_the_wide_one_and_sums(S, features):
    grads, wide = some(K, S, B, N, N, H), some(K, S, B, N, N, H)
    narrow = None if features is None else some(K, S, B, N, N, features)
    read = [wide, torch.ones_like(wide[..., :1])]
    if narrow is not None:
        read = [narrow, *read]
    expected = einsum("ksbija,ksbijc->sac", torch.cat(read, -1), grads)
    close(made(grads, narrow, [wide]), expected)
    sums = grads.sum((0, 2, 3, 4)).unsqueeze(1)
    close(made(grads, narrow), torch.cat((expected[:, : features or 0], sums), 1))


@pytest.mark.parametrize("width", [1, 7, 136])
def test_rows_may_have_any_width(width):
    grads, wide, narrow = some(K, 2, B, width), some(K, 2, B, 3 * H), some(K, 2, B, F)
    got = made(grads, narrow, [wide])
    close(got[:, :F], einsum("ksba,ksbc->sac", narrow, grads))
    close(got[:, F:-1], einsum("ksba,ksbc->sac", wide, grads))
    close(got[:, -1], grads.sum((0, 2)))


def test_inputs_wider_than_a_tile_are_cut():
    grads, wide, narrow = some(K, 1, B, N, H), some(K, 1, B, N, 144), some(K, 1, B, N, F)
    got = made(grads, narrow, [wide])
    close(got[:, :F], einsum("ksbna,ksbnc->sac", narrow, grads))
    close(got[:, F:-1], einsum("ksbna,ksbnc->sac", wide, grads))


@pytest.mark.parametrize("column", [0, 3, H])
def test_several_inputs_lie_side_by_side_and_the_first_columns_may_be_left_out(column):
    x, before, after, grads = (some(K, 2, B, N, c) for c in (F, H, H, 2 * H))
    got = made(grads, x, [before, after], column=column)
    joined = torch.cat((x, before, after, torch.ones_like(x[..., :1])), -1)
    close(got, einsum("ksbna,ksbnc->sac", joined, grads[..., column:]))


def test_products_side_by_side_share_inputs_or_have_their_own():
    P, S = 3, 2
    grads, wide, own = some(K, P, S, B, N, N, H), some(K, S, B, N, N, H), some(K, P, S, B, N, N, 1)
    shared = some(K, S, B, N, N, F)
    got = made(grads, shared, [wide], each=True)
    close(got[:, :, :F], einsum("ksbija,kpsbijc->spac", shared, grads))
    close(got[:, :, F:-1], einsum("ksbija,kpsbijc->spac", wide, grads))
    close(got[:, :, -1], grads.sum((0, 3, 4, 5)).transpose(0, 1))
    got = made(grads, own, each=True)
    close(got[:, :, :1], einsum("kpsbija,kpsbijc->spac", own, grads))


def test_several_stacks_of_grads_are_added_up():
    first, second = some(K, 2, B, N, H), some(K, 2, B, N, H)
    narrow = some(K, 2, B, N, F)
    got = made([first, second], narrow)
    close(got[:, :-1], einsum("ksbna,ksbnc->sac", narrow, first + second))
    close(got[:, -1], (first + second).sum((0, 2, 3)))


def test_stacks_that_are_only_summed_may_have_different_rows():
    first, second = some(K, 2, B, N, H), some(K, 2, B, 3, H)
    got = made([first, second])
    close(got[:, 0], first.sum((0, 2, 3)) + second.sum((0, 2, 3)))


def test_rows_of_the_narrow_input_may_lie_apart():
    grads, x = some(K, 2, B, H), some(K, 2, B, N, F)
    got = made(grads, x[:, :, :, 0])
    close(got[:, :-1], einsum("ksba,ksbc->sac", x[:, :, :, 0], grads))


def test_many_products_are_made_at_once_from_many_rows():
    gradients, results, expected = Gradients("ieee"), [], []
    for i in range(17):  # one more than a launch takes
        rows = 300 if i == 0 else 1 + i  # the first are more than a program takes
        grads, wide = some(2, 1, rows, H), some(2, 1, rows, H)
        results.append(gradients.want(grads, wide=[wide]))
        results.append(gradients.want(grads))
        product = einsum("ksra,ksrc->sac", wide, grads)
        sums = grads.sum((0, 2)).unsqueeze(1)
        expected += [torch.cat((product, sums), 1), sums]
    gradients.make()
    for got, right in zip(results, expected, strict=True):
        close(got, right)


def test_inputs_that_cannot_be_read_four_at_a_time_are_refused():
    with pytest.raises(ValueError, match="wide: got 6 columns, expected a multiple of 4"):
        Gradients("ieee").want(some(1, 1, 4, H), wide=[some(1, 1, 4, 6)])
