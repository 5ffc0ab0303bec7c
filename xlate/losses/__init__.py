"""Losses over candidate scores, one file each."""
