"""The solvers, z3 and cvc5, each in a process of its own."""
