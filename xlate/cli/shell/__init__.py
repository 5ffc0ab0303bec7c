"""What stands around every command: its configuration, standard streams, errors in words, completion."""
