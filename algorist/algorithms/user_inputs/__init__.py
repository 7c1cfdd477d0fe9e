"""Users' own problems: read in every form in which people hold them, and put to a net.

`problems` reads all inputs, `user_graphs` graphs: by `graph_forms`, `graph_arrays`, `edge_lists`
and `edge_tables`; `graph_checks` refuses graphs that an algorithm cannot take. `scaling`, `ranking`
and `separating` turn users' numbers into such as the benchmark draws.
"""

from algorist.algorithms.user_inputs.problems import Problem, draw_problem, read_problem

__all__ = ["Problem", "draw_problem", "read_problem"]
