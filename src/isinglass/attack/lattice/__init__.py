"""Records of few values: lattices of whole numbers, and combinations of values."""
