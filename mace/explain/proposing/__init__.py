"""Heuristics on models that are read: by themselves, or beside the prover, whose bounds they do not touch."""
