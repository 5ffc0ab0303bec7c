"""Blocks: phrase pair extraction, counts, scores, matching events and their tables."""
