"""The scheduled job and the command line."""
