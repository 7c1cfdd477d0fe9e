"""Evaluation: how good the answers of a learner are."""
