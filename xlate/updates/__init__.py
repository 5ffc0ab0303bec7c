"""Update rules, which turn slopes into new weights."""
