"""Arrays on disk: one form for all of them, with checksums that are looked at once on a machine."""
