"""Single columns: marginals, units, and which column is which."""
