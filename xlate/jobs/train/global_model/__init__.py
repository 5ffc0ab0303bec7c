"""The global model: its run, and the texts that it learns from."""
