"""How well records fit released rows, by distance, patterns, residues and groups."""
