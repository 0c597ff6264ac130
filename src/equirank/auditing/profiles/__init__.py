"""Profiles: what laws and guidelines ask to be shown, as dated files."""
