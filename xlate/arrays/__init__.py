"""Arrays: rows of different lengths, and one form on disk with checksums that are compared once on each machine."""
