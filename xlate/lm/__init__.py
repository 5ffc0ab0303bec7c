"""N-gram language models: modified Kneser-Ney estimation, reading and writing ARPA, batch queries."""
