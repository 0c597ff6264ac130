"""Numerical kernels: functions of arrays without validation."""
