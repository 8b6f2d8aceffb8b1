"""Charts, page templates and the style that every report is made of."""
