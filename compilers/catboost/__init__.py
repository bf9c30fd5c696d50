"""Readers of CatBoost's models and files."""
