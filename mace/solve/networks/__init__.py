"""The prover for linear models and ReLU networks: branch and bound on linear relaxations."""
