"""One module for the work of each command."""
