"""A question about trees as plain arrays: where trees cut the axes, what cells cost, and what a box leaves of trees."""
