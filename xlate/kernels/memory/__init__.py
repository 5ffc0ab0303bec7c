"""Arrays, hash tables, tries."""
