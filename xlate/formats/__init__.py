"""File formats of other systems, read and written."""
