"""From a corpus to a work directory, stage by stage."""
