"""Instances and their candidates: ragged batches, the memory-mapped store, datapoint text."""
