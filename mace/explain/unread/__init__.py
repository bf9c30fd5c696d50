"""Models that are only asked: what a search finds, what asking about every point, or bounds over boxes, prove."""
