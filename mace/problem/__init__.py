"""What is asked: goals, distances, rules and exclusions, made into one question; and what may prove its answer."""
