"""A plan: what to do, in which order, and a bound below which there is no cheaper plan.

A forest refuses a loan. The world `loans` says what applicants can do, what it costs in months of effort, and what
makes what easier: with a vocational training a raise comes at three quarters of the effort, with a degree at half.
"""

from sklearn.ensemble import RandomForestClassifier

import mace

loans = mace.datasets.load("loans")
forest = RandomForestClassifier(20, max_depth=5, random_state=0).fit(loans.space.encode(loans.X), loans.y)
refused = loans.X[forest.predict(loans.space.encode(loans.X)) == 0].iloc[5]

world = mace.World.load("loans", loans.space)
print("actions:", ", ".join(action.name for action in world.actions))
plan = mace.plan(forest, loans.space, refused, world, goal=1, horizon=3)
print(plan)
print(plan.to_frame()[["action", "Savings", "Income", "HasGuarantor", "discount", "cost"]].to_string())
