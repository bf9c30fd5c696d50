"""What people give, read and checked: models, a frame in the place of a space, rows of a frame, settings."""
