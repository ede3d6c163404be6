"""Estimates with their uncertainty: pure functions, arrays in, `Estimate` out (STATISTICS.md)."""
