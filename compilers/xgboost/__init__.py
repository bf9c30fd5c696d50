"""Readers of XGBoost's models and files."""
