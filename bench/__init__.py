"""`make bench`: the goals of speed and memory, each measured beside its yardstick in one run (docs/performance.md)."""
