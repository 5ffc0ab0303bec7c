"""The xlate command, its arguments, help, completion and configuration."""
