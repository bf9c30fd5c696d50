"""The nearest point of a question: its search, by objectives in order of priority, and what is said of it."""
