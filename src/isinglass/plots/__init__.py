"""Charts and the pieces of pages that every report is made of."""
