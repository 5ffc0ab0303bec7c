"""N-gram language model queries."""
