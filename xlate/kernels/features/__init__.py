"""Features of blocks."""
