"""What mistakes cost."""
