"""Sums of functions of one feature or two, as additive machines are: one price for the goal, messages between axes."""
