"""Whole jobs, each what a command does."""
