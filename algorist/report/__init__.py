"""What people look at: traces and tables in the terminal."""
