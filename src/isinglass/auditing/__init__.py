"""One release on trial: what is still found in it, and what the attacks got back."""
