"""A mean of what several members say, each a rising function of a sum of trees."""
