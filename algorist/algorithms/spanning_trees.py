"""Minimum spanning trees (CLRS chapter 23)."""
