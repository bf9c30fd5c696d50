"""Readers of scikit-learn's models and of skops files."""
