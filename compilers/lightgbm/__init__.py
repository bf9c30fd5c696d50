"""Readers of LightGBM's models and files."""
