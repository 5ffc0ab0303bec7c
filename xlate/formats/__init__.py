"""File formats of other systems, in and out."""
