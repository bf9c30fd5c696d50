"""Points with the goal, near the start; nothing of them is a proof."""
