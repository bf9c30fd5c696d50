"""Shorter proofs of a bound that is known, and what of them a checker should not have to look for."""
