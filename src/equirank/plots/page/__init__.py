"""The page that reports are written on: one HTML file that needs no network."""
