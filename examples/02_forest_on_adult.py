"""A random forest on Adult: what would have had to be different for an income above 50,000 dollars?

Needs adult.csv.gz in the folder that MACE_DATA names (or network access to OpenML).
"""

from sklearn.ensemble import RandomForestClassifier

import mace

adult = mace.datasets.load("adult")
matrix = adult.space.encode(adult.X)
forest = RandomForestClassifier(100, max_depth=10, random_state=0).fit(matrix, adult.y)

person = adult.X[forest.predict(matrix) == 0].iloc[0]
answer = mace.explain(forest, adult.space, person, goal=1, background=adult.X, count=2, timeout=600)
print(answer)
print("certificate:", answer.certificate.check())
