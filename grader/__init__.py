"""Gradebook's core, usable as a library: reads traces, grades them, keeps the grades."""
