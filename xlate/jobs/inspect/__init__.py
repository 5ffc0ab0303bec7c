"""What a run learned, in words: its weights, how they differ from those of another run, and what decided a sentence."""
