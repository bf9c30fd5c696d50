"""Plans: sequences of actions with consequences that lead to another decision, the cheapest one proved.

In:  a model, a space, a row, and a world (`mace.worlds`).    Out: a `Plan`.
Promise: every plan was replayed by the interpreter, and the deployed model accepted its end; none of the length allowed
costs less than the lower bound. The bound is that of a search whose arithmetic is exact or rounded outward.
Source: Naumann and Ntoutsi 2021; the search is ours.
"""

from mace.plans.plan_front import PlanFront
from mace.plans.population import PlanAudit, audit_plans
from mace.plans.result import Plan, PlanStep
from mace.plans.run import Planner, plan

__all__ = ["Plan", "PlanAudit", "PlanFront", "PlanStep", "Planner", "audit_plans", "plan"]
