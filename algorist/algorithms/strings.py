"""String matching (CLRS chapter 32)."""
