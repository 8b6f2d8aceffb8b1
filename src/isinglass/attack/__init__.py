"""What a snoop can do with a release and what he knows besides; nothing here sees the truth."""
