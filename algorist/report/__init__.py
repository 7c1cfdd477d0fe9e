"""What people look at: traces, tables and progress in the terminal, and a page about a run."""
