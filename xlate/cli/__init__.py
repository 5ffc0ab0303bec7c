"""The xlate command: one small file a subcommand."""
