"""Views: transformations of a release that are worth attacking."""
