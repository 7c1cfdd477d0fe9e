"""How the benchmark's problems are drawn, for several algorithms each."""
