"""Random rotation, run again."""
