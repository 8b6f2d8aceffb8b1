"""What can be measured on a table and its release."""
