"""The paper's experiments: what is trained for them, how far that is, and what came of it."""
