"""A distance of one's own: a year of work counts as much as 2,000 EUR of income, and a move of house as five years."""

from sklearn.tree import DecisionTreeClassifier

import mace

DISTANCE = """
cost = abs(EmploymentYears - start_EmploymentYears) + abs(Income - start_Income) / 2000
cost = cost + abs(Savings - start_Savings) / 5000 + abs(Debts - start_Debts) / 5000
if Housing != start_Housing:
    cost = cost + 5
return cost + abs(LoanAmount - start_LoanAmount) / 1000 + abs(LoanMonths - start_LoanMonths) / 6
"""

loans = mace.datasets.load("loans")
others = [name for name in loans.space.names if name not in DISTANCE]
space = loans.space.change(rules=(), **dict.fromkeys(others, "fixed"))
tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(space.encode(loans.X), loans.y)

applicant = loans.X[tree.predict(space.encode(loans.X)) == 0].iloc[0]
print(mace.explain(tree, space, applicant, goal=1, distance=DISTANCE, background=loans.X, gap=0, oracle="z3"))
