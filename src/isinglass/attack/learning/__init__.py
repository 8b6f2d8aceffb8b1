"""Maps between records and released rows, learned from known pairs or samples."""
