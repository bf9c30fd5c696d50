"""Who answers a question: provers for tree ensembles and networks, solvers for everything, and the driver.

An oracle answers `ask(radius)` with `Found`, `Refuted` or `Unknown`; what it finds is a claim until the driver
(`mace.solve.driver`) has run it through the deployed model.
"""
