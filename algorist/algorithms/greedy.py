"""Greedy choices (CLRS chapter 16)."""
