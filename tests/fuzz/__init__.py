"""Random questions of every kind against enumeration through the library's own `predict`: `make fuzz`."""
