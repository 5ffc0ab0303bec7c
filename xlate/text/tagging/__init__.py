"""Parts of speech, or other classes, for the words of plain lines."""
