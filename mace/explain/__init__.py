"""`explain`: a model, a space and a row to an answer."""
