"""From a work directory to a run, one way of training a file."""
