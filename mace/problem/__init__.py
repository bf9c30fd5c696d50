"""What is asked: goals, distances, rules and exclusions, made into one question; and the shape of what proves its answer."""
