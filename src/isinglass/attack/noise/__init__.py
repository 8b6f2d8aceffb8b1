"""The law and the size of noise, and filters that take it away."""
