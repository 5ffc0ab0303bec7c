"""The phrase-based model, with its decoder."""
