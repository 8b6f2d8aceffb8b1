"""What kept columns tell of the others: groups, parts of values, waves and joins."""
