"""Queries of n-gram language models."""
