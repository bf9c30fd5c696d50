"""What accepting a certificate rests on: one function a rule, whose docstring is the lemma.

The name of a rule is that of its function, of its heading in FORMAT.md and of its paragraph in soundness.md. Nothing
here reads files, limits sizes, searches, or shares code with the provers; an auditor of trees need not read `networks`.
"""
