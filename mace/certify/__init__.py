"""What can be handed over: certificates that stand alone, the solvers' record, questions for other tools."""
