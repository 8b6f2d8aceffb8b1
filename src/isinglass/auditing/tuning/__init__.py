"""The search for a setting: candidates, evaluation, checkpoint, frontier and advice."""
