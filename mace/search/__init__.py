"""Heuristics that propose points with the goal, from above, on any model; nothing that they say is a bound.

A proposer (`mace.search.protocol`) is given a task and answers in batches of rows; whoever runs it asks the model about
each batch and tells it the scores. So every proposer works on models that were read and on models that are only asked.
"""
