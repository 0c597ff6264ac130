"""Which disparity a policy is held to, as the numbers compiled code takes."""

__all__ = ["GROUP", "INDIVIDUAL", "NONE"]

NONE, INDIVIDUAL, GROUP = 0, 1, 2
