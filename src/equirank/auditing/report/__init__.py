"""What the page is made of: its template, style and script, and how numbers are written."""
