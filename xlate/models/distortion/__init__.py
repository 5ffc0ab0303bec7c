"""The phrase-distortion model, with its decoder."""
