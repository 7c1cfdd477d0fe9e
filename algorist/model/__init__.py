"""The learner: features in, features out, through one shared processor."""
