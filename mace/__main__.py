"""`python -m mace` is the command line."""

from mace.cli import main

main()
