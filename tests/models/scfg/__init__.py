"""The CKY decoder."""
