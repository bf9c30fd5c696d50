"""Certificates: their format, what is trusted, and a checker that shares no code with the provers."""

# The folder installs as `mace.proofs`. Under a second name every class in it would exist twice.
if __name__ != "mace.proofs":
    raise ImportError(f"import `mace.proofs`, not `{__name__}`", name=__name__)
