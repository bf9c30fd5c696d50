"""Who answers a question: provers for tree ensembles and networks, solvers for everything.

An oracle answers `ask(radius)` with `Found`, `Refuted` or `Unknown`; what it finds is a claim until the driver
(`mace.search`) has run it through the deployed model.
"""
