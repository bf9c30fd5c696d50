"""Models that nobody can read: an SVC with a radial kernel, a function that is only asked, and what can be proved."""

import numpy as np
from sklearn.svm import SVC

import mace

loans = mace.datasets.load("loans")
space, X = loans.space, loans.X.iloc[:300]
svc = SVC().fit(space.encode(X), loans.y.iloc[:300])
applicant = X[svc.predict(space.encode(X)) == 0].iloc[0]

print("a kernel machine\n", mace.explain(svc, space, applicant, goal=1, background=X, max_calls=2000), sep="")


def price(rows):
    """What a remote service might say: a number for each row of a frame."""
    return rows["area"] * 30 + np.where(rows["balcony"], 80, 0)


flat = mace.Space([mace.Feature("area", "integer", 20, 120), mace.Feature("balcony", "binary", levels=[False, True])])
answer = mace.explain(price, flat, {"area": 50, "balcony": False}, goal="1700 <= rent <= 1800")
print("\na function over few points, all asked about\n", answer, sep="")

sure = mace.BlackBox(price, confidence=lambda rows: np.where(rows["area"] > 60, 0.9, 0.6))
answer = mace.explain(sure, flat, {"area": 50, "balcony": False}, goal="rent >= 1700", confidence=0.8)
print("\nthe same, and sure of it\n", answer, sep="")
