"""Typed configuration: the schema, loading and storing it, and its reference page."""
