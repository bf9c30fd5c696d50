"""The core language: models, distances, rules and properties are all programs of it."""
