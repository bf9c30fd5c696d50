"""A model as plain numbers: what a table may be, how its floats round, and what it certainly decides."""
