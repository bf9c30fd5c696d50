"""Readers of models over raw columns: pipelines, and what their steps do to columns."""
