"""The systems by kind: how jobs open, search, train and look into each."""
