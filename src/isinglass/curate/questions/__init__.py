"""Questions a curator can answer: the base class and the built-in ones."""
