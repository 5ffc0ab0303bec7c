"""N-gram language models: modified Kneser-Ney estimation, ARPA in and out, batch queries."""
