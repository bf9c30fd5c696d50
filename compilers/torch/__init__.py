"""PyTorch's modules."""
