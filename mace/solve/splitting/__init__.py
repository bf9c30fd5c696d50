"""Which inputs of a box may have given outputs: bounds in batches, and splitting of the box."""
