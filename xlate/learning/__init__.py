"""The training loop: state, checkpoint, validation, early stop."""
