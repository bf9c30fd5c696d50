"""Three ways out at once: any two change different features to different values; no other three are nearer in sum."""

from sklearn.ensemble import RandomForestClassifier

import mace

loans = mace.datasets.load("loans")
matrix = loans.space.encode(loans.X)
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(matrix, loans.y)
refused = loans.X[forest.predict(matrix) == 0].iloc[0]

explainer = mace.Explainer(forest, loans.space, background=loans.X)
three = explainer.explain(refused, goal=1, count=3, together=True, diversity="F+FV", most_changes=2)
print(three)
print("certificate:", three.certificate.check())

# Nine answers, each of which changes one feature alone: there are not so many, and the answer says why.
none = explainer.explain(refused, goal=1, count=9, together=True, diversity="F", most_changes=1)
print(none)
print("certificate:", none.certificate.check())
