"""Goals about probabilities, which comparisons of scores only enclose, tight where the nearest point lies."""
