"""Computational geometry (CLRS chapter 33)."""
