"""Training: configurations, recipes, the one loop, checkpoints and runs."""
