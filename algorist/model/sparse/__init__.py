"""The same nets on sparse graphs, where only edges are laid out: window, scan, decoders, inference.

Memory grows with the edges, not with the square of the nodes. Processors for it are written in
terms of `Links` (`processors/links.py`).
"""
