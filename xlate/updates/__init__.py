"""Update rules: what turns a gradient into new weights."""
