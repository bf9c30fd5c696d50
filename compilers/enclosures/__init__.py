"""Models without a table: bounds on what they say over boxes of rows, in floats that are rounded outwards."""
