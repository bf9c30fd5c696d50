"""Karimi, Barthe, Balle, Valera 2020: "Model-Agnostic Counterfactual Explanations for Consequential Decisions"."""
