"""Mutation testing: one operator, comparison, constant or statement is changed at a time, and a test must notice."""
