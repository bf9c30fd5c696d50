"""From a trained model to a program of the core language, exactly."""

# The folder installs as `mace.compilers`. Under a second name every class in it would exist twice.
if __name__ != "mace.compilers":
    raise ImportError(f"import `mace.compilers`, not `{__name__}`", name=__name__)
