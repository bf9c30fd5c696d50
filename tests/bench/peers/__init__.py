"""Other tools on the same models, rows, ranges and limits: what each finds, proves and takes."""
