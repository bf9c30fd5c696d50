"""Which sets suffice, and which box holds most: searches over sets and boxes that know no model."""
