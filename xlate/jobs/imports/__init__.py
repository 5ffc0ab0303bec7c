"""Systems of other software as runs that translate."""
