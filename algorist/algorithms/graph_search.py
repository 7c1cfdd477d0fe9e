"""Graph search and what it reveals (CLRS chapter 22)."""
