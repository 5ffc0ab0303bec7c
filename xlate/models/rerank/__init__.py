"""Weights over the hypotheses of other systems; what they learn from is in jobs/ranking."""
