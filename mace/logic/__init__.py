"""From programs to formulae."""
