"""What the features of the thirty algorithms mean, in a few plain words.

Those of a plug-in are described by their types.
"""

from __future__ import annotations

from algorist.algorithms import Algorithm
from algorist.spec import Feature, Kind, Location

_SEARCH = {
    "pi_h": "from which node each was found",
    "color": "not found yet, found, finished",
    "d": "when it was found, in hundredths",
    "f": "when it was finished, in hundredths",
    "s_prev": "the node below it on the stack",
    "s": "the root of this search",
    "u": "the node the search stands at",
    "v": "the neighbour it looks at",
    "s_last": "the top of the stack",
    "time": "the clock, in hundredths",
    "low": "the earliest node its subtree leads back to",
    "pi": "from which node each was found",
    "topo_h": "the node after it in the order so far",
    "topo_head_h": "the first of the order so far",
}
_GREEDY_TREE = {
    "mark": "settled: its way is final",
    "in_queue": "reached, waiting in the queue",
    "u": "the node just settled",
    "pi_h": "the node before it, so far",
    "pi": "the node before it",
}
_ORDER = {
    "pred_h": "the node before it in the order so far",
    "pred": "the node before it in the order",
    "p": "the first of the part being split",
    "r": "the last of the part: the pivot",
    "i": "the border: before it, keys up to the pivot",
    "j": "the key just looked at",
}
_TABLE = {"msk": "which entries are known"}

_MEANINGS: dict[str, dict[str, str]] = {
    "activity_selector": {
        "s": "when it starts",
        "f": "when it finishes",
        "selected_h": "taken so far",
        "m": "the activity looked at",
        "k": "the one taken last",
        "selected": "taken",
    },
    "articulation_points": {
        **_SEARCH,
        "is_cut_h": "known to hold the graph together",
        "child_cnt": "how many nodes were found from it, in hundredths",
        "is_cut": "without it, the graph falls apart",
    },
    "bellman_ford": {
        "pi_h": "the node before it, so far",
        "d": "the length of the shortest path so far",
        "msk": "reached",
        "pi": "the node before it on the shortest path",
    },
    "bfs": {
        "reach_h": "reached",
        "pi_h": "from which node each was reached",
        "pi": "from which node each was reached",
    },
    "binary_search": {
        "target": "the number to look for",
        "low": "the first key of the range left",
        "high": "the last key of the range left",
        "mid": "the middle of the range",
        "return": "the first key not below the target",
    },
    "bridges": {
        **_SEARCH,
        "is_bridge_h": "known to be a bridge",
        "is_bridge": "without it, the graph falls apart",
    },
    "bubble_sort": {
        **_ORDER,
        "i": "the front: the place being filled",
        "j": "the key that rises",
    },
    "dag_shortest_paths": {
        **_SEARCH,
        "pi_h": "the node before it, so far",
        "d": "the length of the shortest path so far",
        "mark": "reached",
        "phase": "no: sorts the nodes, yes: relaxes edges",
        "pi": "the node before it on the shortest path",
    },
    "dfs": _SEARCH,
    "dijkstra": {
        **_GREEDY_TREE,
        "d": "the length of the shortest path so far",
        "pi": "the node before it on the shortest path",
    },
    "find_maximum_subarray_kadane": {
        "best_low": "where the best so far starts",
        "best_high": "where the best so far ends",
        "best_sum": "the sum of the best so far",
        "i": "where the present one starts",
        "j": "where the present one ends",
        "sum": "the sum of the present one",
        "start": "where the best starts",
        "end": "where the best ends",
    },
    "floyd_warshall": {
        "Pi_h": "the last node before j on the way from i, so far",
        "D": "the length of the way from i to j so far",
        "msk": "whether a way is known",
        "k": "the node just allowed on the way",
        "Pi": "the last node before j on the way from i",
    },
    "graham_scan": {
        "best": "the lowest point",
        "atans": "the angle seen from the lowest point",
        "in_hull_h": "on the hull so far",
        "stack_prev": "the corner before it",
        "last_stack": "the latest corner",
        "i": "the point just looked at",
        "phase": "which part of the scan this is",
        "in_hull": "a corner of the hull",
    },
    "heapsort": {
        **_ORDER,
        "parent": "its parent in the heap",
        "i": "the root being repaired, or the key moved out",
        "j": "the key that sinks",
        "largest": "the largest of it and its children",
        "heap_size": "the last key of the heap",
        "phase": "0 builds the heap, 1 takes the largest, 2 repairs",
    },
    "insertion_sort": {
        **_ORDER,
        "i": "the key that gives way",
        "j": "the key just inserted",
    },
    "jarvis_march": {
        "in_hull_h": "known to be a corner",
        "best": "the lowest point",
        "last_point": "the latest corner",
        "endpoint": "the best next corner so far",
        "i": "the point just looked at",
        "phase": "0 looks for the lowest point, 1 wraps",
        "in_hull": "a corner of the hull",
    },
    "kmp_matcher": {
        "pi": "where the pattern's start is repeated up to here",
        "is_reset": "nothing of the start is repeated here",
        "k": "how much of the start is repeated",
        "k_reset": "k stands for nothing repeated",
        "q": "the letter of the pattern looked at, or matched last",
        "q_reset": "q stands for nothing matched",
        "s": "where the match under way may start",
        "i": "the letter of the text",
        "phase": "no: studies the pattern, yes: searches the text",
        "match": "where the pattern starts; its own first letter: nowhere",
    },
    "lcs_length": {
        "b_h": "how the length came about: ↖ a match, ↑ from above, ← from the left",
        "c": "the length for the letters up to here",
        "b": "how the length comes about: ↖ a match, ↑ from above, ← from the left",
    },
    "matrix_chain_order": {
        **_TABLE,
        "p": "the dimensions: matrix i is p[i-1] by p[i]",
        "m": "the cost of the chain from i to j so far",
        "s_h": "where the chain from i to j is split, so far",
        "s": "where the chain from i to j is split",
    },
    "minimum": {
        "min_h": "the smallest so far",
        "i": "the key just looked at",
        "min": "the smallest",
    },
    "mst_kruskal": {
        "in_mst_h": "in the tree so far",
        "pi": "towards the root of its set",
        "u": "one end of the edge looked at",
        "v": "the other end",
        "root_u": "on the way to the root of u's set",
        "root_v": "on the way to the root of v's set",
        "mask_u": "passed on the way from u",
        "mask_v": "passed on the way from v",
        "phase": "0 decides, 1 climbs from u, 2 climbs from v",
        "in_mst": "in the tree",
    },
    "mst_prim": {
        **_GREEDY_TREE,
        "key": "the weight of the edge that would join it",
        "mark": "in the tree",
        "pi_h": "its parent in the tree so far",
        "pi": "its parent in the tree",
    },
    "naive_string_matcher": {
        "s": "where the pattern is tried",
        "i": "the letter of the text",
        "j": "the letter of the pattern",
        "match": "where the pattern starts; its own first letter: nowhere",
    },
    "optimal_bst": {
        **_TABLE,
        "p": "how probable each key is",
        "q": "how probable each gap is",
        "root_h": "the key at the root for the gaps i to j, so far",
        "e": "the expected cost for the gaps i to j",
        "w": "how probable the gaps i to j are in all",
        "root": "the key at the root for the gaps i to j",
    },
    "quickselect": {
        **_ORDER,
        "i_rank": "the rank of the border",
        "target": "the rank of the median in this part",
        "pivot": "the pivot",
        "median": "the median",
    },
    "quicksort": _ORDER,
    "segments_intersect": {
        "i": "one end of the other segment",
        "j": "its other end",
        "k": "the point looked at",
        "dir": "on which side of the other segment it is",
        "on_seg": "within the box of the other segment",
        "intersect": "whether the segments have a point in common",
    },
    "strongly_connected_components": {
        **_SEARCH,
        "scc_id_h": "the node that names its component, so far",
        "A_t": "the edges turned round",
        "phase": "no: searches the graph, yes: the graph turned round",
        "scc_id": "the node that names its component",
    },
    "task_scheduling": {
        "d": "the deadline",
        "w": "the weight",
        "selected_h": "taken so far",
        "i": "the task looked at",
        "t": "how many slots are taken",
        "selected": "taken",
    },
    "topological_sort": {
        **_SEARCH,
        "topo": "the node after it in the order",
        "topo_head": "the first of the order",
    },
}

_COMMON = {
    "pos": "the place of each node, from 0 to 1",
    "pred_h": "the node before it: it never changes",
    "A": "the edges and their weights",
    "adj": "which nodes are adjacent",
    "s": "where to start",
    "key": "the numbers",
    "string": "which of the two strings a letter is of",
    "x": "from left to right",
    "y": "from bottom to top",
}
"""Where an algorithm says nothing else; letters are numbers too."""

_TYPES = {
    Kind.SCALAR: "a number",
    Kind.CATEGORICAL: "a class",
    Kind.MASK: "yes or no",
    Kind.MASK_ONE: "one of the nodes",
    Kind.POINTER: "a node",
    Kind.SHOULD_BE_PERMUTATION: "the node before it in an order",
}
_PLACES = {Location.NODE: " for each node", Location.EDGE: " for each pair of nodes"}


def meaning(algorithm: Algorithm, feature: Feature) -> str:
    """What a feature of an algorithm means."""
    own = _MEANINGS.get(algorithm.name)
    if own is None:
        place = "" if feature.kind == Kind.MASK_ONE else _PLACES.get(feature.location, "")
        return f"{_TYPES[feature.kind]}{place}"
    return own.get(feature.name) or _COMMON[feature.name]
