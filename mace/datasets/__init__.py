"""Tables to try mace on, each with its space."""
