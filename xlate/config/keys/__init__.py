"""The keys of all schemas: what they are in words, and which of them are lists."""
