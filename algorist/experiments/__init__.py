"""The paper's experiments and sweeps: what is trained for them, where, and what came of it."""
