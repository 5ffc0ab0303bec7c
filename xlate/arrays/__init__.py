"""Arrays: rows of different lengths, and a format on disk with checksums that are checked once per machine."""
