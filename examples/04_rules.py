"""Rules of the world: the same applicant without any, and with conditions between features."""

from sklearn.ensemble import RandomForestClassifier

import mace

loans = mace.datasets.load("loans")
space = loans.space.change(rules=())
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(space.encode(loans.X), loans.y)
applicant = loans.X[forest.predict(space.encode(loans.X)) == 0].iloc[4]

rules = [
    "Savings <= Income",
    "LoanAmount >= 6000",
    'Housing == "own" implies Savings >= 2000',
]
print("without rules\n", mace.explain(forest, space, applicant, goal=1, background=loans.X), "\n", sep="")
print("with rules\n", mace.explain(forest, space, applicant, goal=1, background=loans.X, rules=rules), sep="")
