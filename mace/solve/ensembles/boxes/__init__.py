"""The plain search: best first over boxes of cells, each tree bounded by itself; and when other searches take over."""
