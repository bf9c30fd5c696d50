"""The reader of statsmodels' results."""
