"""Several counterfactuals that are found together: the least sum, by regions, and its facts under one goal."""
