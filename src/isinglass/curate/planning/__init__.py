"""Planning: beta, r and epsilon, chosen before the first query."""
