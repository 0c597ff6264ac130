"""Report pages: shell, templates and formatting of numbers."""
