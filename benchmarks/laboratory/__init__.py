"""The laboratory: small nets without a recurrent state, trained on single transitions.

See `docs/laboratory.md` for what it measures and what was found.
"""
