"""Update rules: what turns slopes into new weights."""
