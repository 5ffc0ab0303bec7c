"""Feature templates, float and sparse, and the index from feature name to id."""
