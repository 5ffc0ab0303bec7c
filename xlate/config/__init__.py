"""Typed configuration: the schema and what is built from it."""
