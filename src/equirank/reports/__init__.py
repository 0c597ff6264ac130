"""Pages: the shell, the templates and the formatting of numbers."""
