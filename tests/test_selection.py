"""What masks and pointers select."""

import torch
from executing import ENCODING, columns_of, features_of, hot
from torch.nn.functional import one_hot

from algorist.model.executing.selection import (
    select,
    select_bits,
    select_by_edges,
    select_orientations,
)
from algorist.model.executing.task_features import TaskFeatures
from algorist.spec import Location


def test_selection_reads_scalars_where_pointers_and_masks_point():
    n, nodes = 6, torch.arange(6)
    spec = ENCODING.spec("dijkstra")
    names = ("pos", "A", "d", "pi_h", "u")
    d, weights, pointers = torch.rand(n), torch.rand(n, n), torch.tensor([1, 1, 0, 2, 3, 0])
    values = {"pos": torch.rand(n), "A": weights, "d": d}
    next_hints = {"pi_h": one_hot(pointers, n).float(), "u": one_hot(torch.tensor(4), n).float()}
    found = select(TaskFeatures([spec[name] for name in names]), next_hints, values)

    def has(location, expected):
        columns = torch.cat(found[location], -1).unbind(-1)
        return any(torch.allclose(column, expected) for column in columns)

    assert has(Location.NODE, d[pointers])
    assert has(Location.NODE, weights[pointers, nodes])
    assert has(Location.NODE, weights[nodes, pointers])
    assert has(Location.NODE, weights[4])
    assert has(Location.NODE, weights[:, 4])
    assert has(Location.GRAPH, d[4])
    assert has(Location.EDGE, weights[pointers])
    assert has(Location.EDGE, weights[:, pointers])
    assert has(Location.EDGE, weights[pointers][:, pointers])
    assert not has(Location.GRAPH, d[3])


def test_masks_read_bits_also_along_pointers():
    """Letters at k, before it and after it, and whether two of these nodes have the same one."""
    read = features_of("kmp_matcher", "pos", "key", "pred", "k")
    letters = torch.tensor([2, 0, 2, 3])
    values = {"pos": torch.rand(4), "key": hot(letters, 4), "pred": hot([0, 0, 1, 2], 4)}
    found = select_bits(read, values | {"k": hot(1, 4)})
    of_graph = torch.cat(found[Location.GRAPH], -1)
    at, before, after = of_graph[:15].view(3, 5)[:, :4]
    assert [x.argmax().item() for x in (at, before, after)] == [0, 2, 2]
    assert of_graph[15:].tolist() == [0, 0, 1]  # at k and before it, at k and after it, around it
    assert [0, 0, 1, 0] in columns_of(torch.cat(found[Location.NODE], -1))


def test_edge_pointers_split_problems():
    read = features_of("optimal_bst", "pos", "pred", "root_h", "e")
    n, e, pos = 5, torch.rand(5, 5), torch.rand(5)
    roots = torch.randint(0, 4, (n, n))
    values = {"pos": pos, "e": e}
    next_hints = {"root_h": hot(roots, n), "pred": hot([0, 0, 1, 2, 3], n)}
    found = torch.cat(select_by_edges(read, next_hints, values), -1)
    i, j = 1, 3
    root = roots[i, j]
    expected = {
        "x[P]": pos[root],
        "x[i] x[P] x[j]": pos[i] * pos[root] * pos[j],
        "x[i - 1] x[P] x[j]": pos[i - 1] * pos[root] * pos[j],
        "S[i, P]": e[i, root],
        "S[P, j]": e[root, j],
        "S[i, P] + S[P, j]": e[i, root] + e[root, j],
        "S[P + 1, j]": e[root + 1, j],
        "S[i, P] + S[P + 1, j]": e[i, root] + e[root + 1, j],
    }
    for name, value in expected.items():
        assert any(torch.isclose(x, value) for x in found[i, j]), name


def test_a_mask_reads_to_which_nodes_edges_point():
    read = features_of("floyd_warshall", "pos", "Pi_h", "k")
    pointers = torch.randint(0, 4, (4, 4))
    values = {"pos": torch.rand(4), "Pi_h": hot(pointers, 4), "k": hot(2, 4)}
    rows = torch.cat(select_bits(read, values)[Location.EDGE], -1)
    assert torch.equal(rows[..., 0].argmax(-1), pointers[2])
    assert torch.equal(rows[..., 1].argmax(-1), pointers[:, 2])


def test_orientations_and_directions_of_points():
    read = features_of("jarvis_march", "pos", "x", "y", "last_point", "endpoint")
    x, y = torch.tensor([0.0, 1.0, 1.0, 1.0]), torch.tensor([0.0, 0.0, 1.0, -1.0])
    values = {"pos": torch.rand(4), "x": x, "y": y, "last_point": hot(0, 4), "endpoint": hot(1, 4)}
    assert select_orientations(read, values, values).squeeze(-1).tolist() == [0, 0, 1, -1]
    columns = torch.cat(select(read, values, values)[Location.NODE], -1)
    assert any(torch.allclose(c, torch.atan2(y, x)) for c in columns.unbind(-1))


def test_points_on_one_line_do_not_turn():
    read = features_of("jarvis_march", "pos", "x", "y", "last_point", "endpoint")
    along = torch.tensor([0.1, 0.2, 0.3, 0.7])
    x, y = along, 3 * along + 0.1  # rounding makes turns of about 1e-8 of these
    values = {"pos": torch.rand(4), "x": x, "y": y, "last_point": hot(0, 4), "endpoint": hot(1, 4)}
    assert not select_orientations(read, values, values).any()
