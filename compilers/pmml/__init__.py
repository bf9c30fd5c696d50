"""The reader of PMML: files that R, Spark, SAS and other programs write of their models."""
