"""A scorecard in bins: three ways to be accepted, which change different features to different bins."""

import pandas as pd

from mace.scorecards import Counterfactual, read_card

BINS = {
    "Age": (0.9, [(None, 25, -0.9), (25, 35, -0.2), (35, 50, 0.3), (50, None, 0.6)]),
    "Income": (1.1, [(None, 20000, -1.2), (20000, 30000, -0.4), (30000, 45000, 0.4), (45000, None, 1.1)]),
    "Debts": (0.8, [(None, 1000, 0.8), (1000, 5000, 0.1), (5000, None, -0.9)]),
    "Years": (0.7, [(None, 1, -0.7), (1, 4, 0.0), (4, None, 0.6)]),
}
card = read_card(
    [
        {"variable": name, "coefficient": weight, "value": value, "low": low, "high": high}
        for name, (weight, bins) in BINS.items()
        for low, high, value in bins
    ],
    intercept=-0.3,
)
people = pd.DataFrame(
    {
        "Age": [22, 31, 44, 58, 27, 39, 63, 24],
        "Income": [18000, 26000, 41000, 52000, 33000, 22000, 47000, 36000],
        "Debts": [6000, 300, 2500, 800, 7000, 1500, 4000, 200],
        "Years": [0, 2, 9, 5, 1, 3, 12, 0],
    }
)
refused = {"Age": 31, "Income": 24000, "Debts": 6500, "Years": 2}

found = Counterfactual(card).fit(people)
found.generate(
    refused, 1, "binary", n_cf=3, max_changes=2, objectives={"proximity": 1},
    hard_constraints=["diversity_features", "diversity_values"],
)  # fmt: skip
print(found.display(show_only_changes=True, show_outcome=True).round(3).to_string(index=False))
print(found.status, round(found.objective["proximity"], 4))
print("certificate:", found.certificate.check())

# Four of one change each: there are none, and the answer says which conditions clash.
found.generate(
    refused, 1, "binary", n_cf=4, max_changes=1, objectives={"proximity": 1}, hard_constraints=["diversity_features"]
)
print(found.status, "by", ", ".join(found.core))
print("certificate:", found.certificate.check())
