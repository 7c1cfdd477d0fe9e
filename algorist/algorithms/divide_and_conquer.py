"""Divide and conquer (CLRS chapter 4)."""
