"""The papers' tables and figures, run again by the product itself, beside what they printed."""
