"""The prover for tree ensembles: branch and bound over boxes of threshold cells."""
