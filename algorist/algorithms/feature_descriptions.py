"""What each feature of the thirty algorithms means, in a few plain words.

Said of a node, `it` is that node; said of a pair of nodes, `i` and `j` are the two. What several
algorithms share stands in front of the table, in groups that hold the same features as theirs.
"""

from __future__ import annotations

from algorist.algorithms.declaring import Algorithm
from algorist.spec import Feature, Kind, Location

# Inputs

_PLACE = {"pos": "the node's place in the order of nodes, from 0 to below 1"}
_SORTABLE = {**_PLACE, "key": "the numbers to sort"}
_SEARCHABLE = {**_PLACE, "key": "the numbers to search"}
_LETTERS = {
    "pos": "the letter's place in its string, from 0 to below 1",
    "key": "the letter, one of four",
}
_POINTS = {**_PLACE, "x": "the first coordinate", "y": "the second coordinate"}
_GRAPH = {
    **_PLACE,
    "A": "the weight of each edge, 0 where there is none",
    "adj": "1 where there is an edge, and from each node to itself",
}
_GRAPH_AND_SOURCE = {**_GRAPH, "s": "the source"}

# Hints, and outputs that go with them

_NUMBERED = {"pred_h": "the node numbered before it; this never changes"}
_SPELLED = {"pred_h": "the letter before it in its string; this never changes"}
_ORDER = {"pred_h": "the node before it in the order so far; the first: itself"}
_SORTED = {**_ORDER, "pred": "the node before it in the sorted order; the first: itself"}
_PARTITION = {
    "p": "the first node of the part being split",
    "r": "the last node of the part; the pivot, until it is placed",
    "i": "the node at the border: before it, keys up to the pivot",
    "j": "the node at the place just looked at",
}
_TEXT_AND_PATTERN = {
    **_LETTERS,
    **_SPELLED,
    "string": "0 for the letters of the text, 1 for those of the pattern",
    "match": "where the first match starts; the pattern's start if none",
}
_STACK = {
    "color": "0 white: not found; 1 grey: on the stack; 2 black: finished",
    "s_prev": "the node below it on the stack; itself if none",
    "u": "the node whose edges are explored",
    "v": "the node at the other end of the edge at hand",
    "s_last": "the top of the stack",
}
_SEARCH = {**_STACK, "s": "the node at which this search began"}
_CLOCK = {
    "d": "when it was discovered, in hundredths",
    "f": "when it was finished, in hundredths",
    "time": "the clock, in hundredths",
}
_FOUND = {"pi_h": "the node it was found from; itself if none"}
_LOW = {"low": "the earliest discovery that its subtree has an edge back to"}
_PATHS = {
    "pi_h": "the node before it on the shortest path known",
    "d": "the length of the shortest path known",
    "pi": "the node before it on its shortest path; itself if none",
}
_HULL = {
    **_POINTS,
    "best": "the lowest point",
    "in_hull_h": "the corners of the hull so far",
    "i": "the point just looked at",
    "in_hull": "the corners of the hull",
}

DESCRIPTIONS: dict[str, dict[str, str]] = {
    # Sorting
    "insertion_sort": {
        **_SORTABLE,
        **_SORTED,
        "i": "the node whose place the inserted one took",
        "j": "the node that was inserted last",
    },
    "bubble_sort": {
        **_SORTABLE,
        **_SORTED,
        "i": "the node in the place that is being filled",
        "j": "of the two neighbours just compared, the one behind",
    },
    "heapsort": {
        **_SORTABLE,
        **_SORTED,
        "parent": "its parent in the heap; itself if it has none",
        "i": "the root of what is repaired; in phase 2, the last taken out",
        "j": "the node now at the place looked at; in phase 1, taken out",
        "largest": "the node that sank from there, or stayed; node 0 in phase 1",
        "heap_size": "the last node of the heap",
        "phase": "0 builds the heap, 1 takes out its root, 2 repairs it",
    },
    "quicksort": {**_SORTABLE, **_SORTED, **_PARTITION},
    # Searching
    "minimum": {
        **_SEARCHABLE,
        **_NUMBERED,
        "min_h": "the node with the smallest key so far",
        "i": "the node just compared",
        "min": "the node with the smallest key",
    },
    "binary_search": {
        **_SEARCHABLE,
        **_NUMBERED,
        "target": "the number to look for",
        "low": "the first node that is still possible",
        "high": "the last node that is still possible",
        "mid": "the node halfway between low and high",
        "return": "the first node whose key is not below the target",
    },
    "quickselect": {
        **_SEARCHABLE,
        **_ORDER,
        **_PARTITION,
        "i_rank": "the border's place, as a share of all nodes",
        "target": "the median's place in the part, as a share of all nodes",
        "pivot": "the node that the others are compared with",
        "median": "the node in the middle of the sorted order",
    },
    # Divide and conquer
    "find_maximum_subarray_kadane": {
        **_PLACE,
        **_NUMBERED,
        "key": "the numbers, some of them negative",
        "best_low": "the first node of the best run so far",
        "best_high": "the last node of the best run so far",
        "best_sum": "the sum of the best run so far",
        "i": "the first node of the best run that ends at j",
        "j": "the node just reached",
        "sum": "the sum from i to j",
        "start": "the first node of the best run",
        "end": "the last node of the best run",
    },
    # Greedy
    "activity_selector": {
        **_PLACE,
        **_NUMBERED,
        "s": "when the activity starts",
        "f": "when the activity finishes",
        "selected_h": "the activities taken so far",
        "m": "the activity just looked at",
        "k": "the activity taken last",
        "selected": "the activities taken",
    },
    "task_scheduling": {
        **_PLACE,
        **_NUMBERED,
        "d": "the deadline, a whole number of slots",
        "w": "the weight that is lost if the task is late",
        "selected_h": "the tasks taken so far",
        "i": "the task just looked at",
        "t": "how many slots are taken",
        "selected": "the tasks taken",
    },
    # Dynamic programming
    "matrix_chain_order": {
        **_PLACE,
        **_NUMBERED,
        "p": "the dimensions: matrix i is p[i - 1] by p[i]",
        "m": "the least cost known of the chain from i to j",
        "s_h": "where the chain from i to j is split at that cost",
        "msk": "1 where a cost is known",
        "s": "where the chain from i to j is split: the left part's last",
    },
    "lcs_length": {
        **_LETTERS,
        **_SPELLED,
        "string": "0 for the letters of the first string, 1 for the second's",
        "b_h": "where c comes from: 0 ↖ match, 1 ↑ above, 2 ← left",
        "c": "the longest common subsequence's length up to i and j",
        "b": "where the final c comes from: 0 ↖ match, 1 ↑ above, 2 ← left",
    },
    "optimal_bst": {
        **_PLACE,
        **_NUMBERED,
        "p": "how probable each key is; the last node has none",
        "q": "how probable each gap is: before its key, or behind all",
        "root_h": "the key at the root of the best tree from gap i to gap j",
        "e": "the expected cost of that tree",
        "w": "how probable everything in that tree is",
        "msk": "1 where these are known",
        "root": "the key at the root of each of the best trees",
    },
    # Graph search
    "bfs": {
        **_GRAPH_AND_SOURCE,
        "reach_h": "the nodes reached so far",
        "pi_h": "the node it was reached from; itself if none",
        "pi": "the node before it on a shortest path; itself if none",
    },
    "dfs": {
        **_GRAPH,
        **_SEARCH,
        **_CLOCK,
        **_FOUND,
        "pi": "the node it was found from in the end; itself if none",
    },
    "topological_sort": {
        **_GRAPH,
        **_SEARCH,
        "topo_h": "the node after it in the order so far; the last: itself",
        "topo_head_h": "the first node of the order so far",
        "topo": "the node after it in the order; the last: itself",
        "topo_head": "the first node of the order",
    },
    "strongly_connected_components": {
        **_GRAPH,
        **_SEARCH,
        **_CLOCK,
        "scc_id_h": "the node that stands for its component, so far",
        "A_t": "the edges turned round",
        "phase": "0 searches the graph, 1 the graph turned round",
        "scc_id": "the node that stands for its component",
    },
    "articulation_points": {
        **_GRAPH,
        **_SEARCH,
        **_CLOCK,
        **_FOUND,
        **_LOW,
        "is_cut_h": "the articulation points found so far",
        "child_cnt": "how many nodes were found from it, in hundredths",
        "is_cut": "the nodes without which the graph falls apart",
    },
    "bridges": {
        **_GRAPH,
        **_SEARCH,
        **_CLOCK,
        **_FOUND,
        **_LOW,
        "is_bridge_h": "the bridges found so far; -1 where there is no edge",
        "is_bridge": "all bridges; -1 where there is no edge",
    },
    # Shortest paths
    "bellman_ford": {**_GRAPH_AND_SOURCE, **_PATHS, "msk": "the nodes reached so far"},
    "dijkstra": {
        **_GRAPH_AND_SOURCE,
        **_PATHS,
        "mark": "the nodes that are settled: their paths are final",
        "in_queue": "the nodes that are reached and not settled",
        "u": "the node that was settled last",
    },
    "dag_shortest_paths": {
        **_GRAPH_AND_SOURCE,
        **_PATHS,
        **_STACK,
        "mark": "the nodes reached so far",
        "topo_h": "the node after it in the order; the last: itself",
        "topo_head_h": "the first of the order; in phase 1, followed next",
        "phase": "0 while the nodes are sorted, 1 while edges are followed",
    },
    "floyd_warshall": {
        **_GRAPH,
        "Pi_h": "the node before j on the shortest path known from i",
        "D": "the length of the shortest path known from i to j",
        "msk": "1 where a path is known",
        "k": "the node that paths may lead through next",
        "Pi": "the node before j on the shortest path from i",
    },
    # Spanning trees
    "mst_kruskal": {
        **_GRAPH,
        "in_mst_h": "the edges taken so far",
        "pi": "a node nearer to the root of its set; the root: itself",
        "u": "one end of the edge at hand",
        "v": "the other end of the edge at hand",
        "root_u": "how far the climb from u has come",
        "root_v": "how far the climb from v has come",
        "mask_u": "the nodes passed on the way up from u",
        "mask_v": "the nodes passed on the way up from v",
        "phase": "0 between edges, 1 climbs from u, 2 climbs from v",
        "in_mst": "the edges of the tree",
    },
    "mst_prim": {
        **_GRAPH_AND_SOURCE,
        "pi_h": "the node of the tree that it has joined or would join",
        "key": "the weight of that edge",
        "mark": "the nodes of the tree",
        "in_queue": "the nodes next to the tree",
        "u": "the node that was added last",
        "pi": "its parent in the tree; itself if it has none",
    },
    # Strings
    "naive_string_matcher": {
        **_TEXT_AND_PATTERN,
        "s": "where in the text the pattern is tried",
        "i": "the letter of the text that is compared",
        "j": "the letter of the pattern that is compared",
    },
    "kmp_matcher": {
        **_TEXT_AND_PATTERN,
        "pi": "the last letter of the longest start that also ends here",
        "is_reset": "1 where there is no such start",
        "k": "in phase 0, the last letter matched of the pattern's start",
        "k_reset": "1 if nothing of the start is matched",
        "q": "phase 0: the letter at hand; phase 1: the last one matched",
        "q_reset": "1 if nothing in the text is matched",
        "s": "where a match that ends at i would start",
        "i": "the letter of the text at hand",
        "phase": "0 while the pattern is prepared, 1 during the search",
    },
    # Geometry
    "segments_intersect": {
        **_POINTS,
        "i": "the first end of the other segment",
        "j": "the second end of the other segment",
        "k": "the point just looked at",
        "dir": "on which side of the other segment it lies, by its sign",
        "on_seg": "1 if it lies in the box around the other segment",
        "intersect": "whether the segments have a point in common",
    },
    "graham_scan": {
        **_HULL,
        "atans": "the angle at which it is seen from the lowest point",
        "stack_prev": "the corner before it; itself if there is none",
        "last_stack": "the latest corner",
        "phase": "0 starts, 1 lowest found, 2 angles known, 3 drops, 4 adds",
    },
    "jarvis_march": {
        **_HULL,
        **_NUMBERED,
        "last_point": "the latest corner",
        "endpoint": "the best next corner so far",
        "phase": "0 at the beginning, 1 during the march",
    },
    # Distributed algorithms
    "eccentricity": {
        **_GRAPH_AND_SOURCE,
        "reach_h": "the nodes that the flood has reached",
        "pi_h": "the node it was reached from; itself if none",
        "d": "its distance from the source, in edges",
        "flooded": "the nodes whose neighbours have all been reached",
        "done": "the nodes that have answered",
        "echo": "the largest distance among those reached through it",
        "eccentricity": "the largest distance from the source",
    },
    "maximal_independent_set": {
        **_GRAPH,
        "priority": "the random number of the node; the smallest goes first",
        "alive": "the nodes that are neither in the set nor next to it",
        "in_set_h": "the nodes in the set so far",
        "phase": "0 before nodes join, 1 before others die",
        "in_set": "the nodes of the set, no two of them neighbours",
    },
}
"""By algorithm and feature. Each stays within 60 characters: the page has little room for them."""

_TYPES = {
    Kind.SCALAR: "a number",
    Kind.CATEGORICAL: "a class",
    Kind.MASK: "yes or no",
    Kind.MASK_ONE: "one of the nodes",
    Kind.POINTER: "a node",
    Kind.SHOULD_BE_PERMUTATION: "the node before it in an order",
}
_PLACES = {Location.NODE: " for each node", Location.EDGE: " for each pair of nodes"}


def describe_feature(algorithm: Algorithm, feature: Feature) -> str:
    """What a feature means; that of a plug-in is described by its type."""
    if algorithm.name in DESCRIPTIONS:
        return DESCRIPTIONS[algorithm.name][feature.name]
    place = "" if feature.kind == Kind.MASK_ONE else _PLACES.get(feature.location, "")
    return f"{_TYPES[feature.kind]}{place}"
