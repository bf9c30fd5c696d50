"""Who answers a question: provers for tree ensembles and networks, solvers for everything, and the driver that asks them."""
