"""More than one objective: the nearest with the fewest changes, all points that no other beats, and a nearest miss."""

from sklearn.ensemble import RandomForestClassifier

import mace

loans = mace.datasets.load("loans")
space = loans.space
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(space.encode(loans.X), loans.y)
applicant = loans.X[forest.predict(space.encode(loans.X)) == 0].iloc[1]

answer = mace.explain(forest, space, applicant, goal=1, objectives=["l1 within 25%", "changes"])
print("the nearest, and up to 25 % farther for fewer changes\n", answer, sep="")
for level in answer.levels:
    print(f"{level.name}: {level.certificate.check()}")

print("\nwhat no other point beats\n", mace.front(forest, space, applicant, goal=1), sep="")

wanted = "p(1) >= 0.9999"
print("\na goal that cannot be met\n", mace.explain(forest, space, applicant, goal=wanted).nearest_miss(), sep="")
