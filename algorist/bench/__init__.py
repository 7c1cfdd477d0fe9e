"""The time and the memory of training steps, trainings and evaluations."""
