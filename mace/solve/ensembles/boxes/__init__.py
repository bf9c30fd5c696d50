"""The plain search, best first over boxes of cells with each tree by itself, and when it makes way for others."""
