"""Shekhar et al. 2023: "A PSO Based Method to Generate Actionable Counterfactuals for High Dimensional Data"."""
