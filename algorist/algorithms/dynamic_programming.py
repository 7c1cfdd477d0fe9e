"""Dynamic programming (CLRS chapter 15)."""
