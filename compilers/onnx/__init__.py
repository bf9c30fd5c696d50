"""Readers of ONNX files."""
