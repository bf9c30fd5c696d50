"""The linear relaxation of trees, in which all share one distance: its prices, its boxes, its branch and bound."""
