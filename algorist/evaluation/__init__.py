"""Evaluation: what a learner answers, and how good that is."""
