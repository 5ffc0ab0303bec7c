"""Training with the decoder in the loop: source=online."""
