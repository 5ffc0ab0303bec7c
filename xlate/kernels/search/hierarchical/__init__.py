"""Search of the hierarchical model from left to right in the target."""
