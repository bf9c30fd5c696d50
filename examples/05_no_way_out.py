"""No way out, proved: when only the terms of the loan may change, nothing that this applicant does helps."""

from sklearn.ensemble import RandomForestClassifier

import mace

loans = mace.datasets.load("loans")
terms = ("LoanAmount", "LoanMonths")
stuck = loans.space.change(rules=(), **{name: "fixed" for name in loans.space.names if name not in terms})
matrix = stuck.encode(loans.X)
forest = RandomForestClassifier(50, max_depth=8, random_state=0).fit(matrix, loans.y)

explainer = mace.Explainer(forest, stuck, background=loans.X)
refused = loans.X[forest.predict(matrix) == 0].head(100)
answers = [explainer.explain(refused.iloc[place], goal=1) for place in range(len(refused))]
hopeless = [answer for answer in answers if answer.status == "infeasible"]
print(f"{len(hopeless)} of {len(refused)} refused applicants have no way out by the terms of the loan alone")
print(hopeless[0])
print("certificate:", hopeless[0].certificate.check())
