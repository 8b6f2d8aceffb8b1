"""What the order of rows tells: interpolation, periods, blocks, sorted tables and walks."""
