"""What all papers share: data, results, drawing and writing."""
