"""The linear scorer and its weights on disk."""
