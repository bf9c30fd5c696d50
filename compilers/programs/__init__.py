"""From a table to a program of the core language."""
