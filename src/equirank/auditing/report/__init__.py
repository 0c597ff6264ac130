"""What is the audit page's own, beside the shell that all pages share: template, style, script."""
