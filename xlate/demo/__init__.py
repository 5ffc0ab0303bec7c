"""The built-in corpus: made, not stored."""
