"""Ranking the lists of systems: features of hypotheses, a trained ranker, and systems combined by one."""
