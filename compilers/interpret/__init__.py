"""The reader of interpret's explainable boosting machines."""
