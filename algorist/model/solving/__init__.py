"""Users' problems, solved by a learner: `solver` for dense problems, `sparse` for large graphs.

`solution` is what comes back, `solution_text` and `solution_pictures` show it.
"""
