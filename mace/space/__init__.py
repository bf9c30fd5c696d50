"""What may change: features, their axes and grids, the model's columns as functions of them, TOML files."""
