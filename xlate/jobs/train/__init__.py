"""From a work directory to a run; one file per way of training."""
