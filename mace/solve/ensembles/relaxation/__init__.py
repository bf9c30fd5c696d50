"""The linear relaxation of trees, in which all share one distance: its dual multipliers (prices), branch and bound."""
