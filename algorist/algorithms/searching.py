"""Searching (CLRS chapters 4 and 9)."""
