"""What a user puts into an agent to record its traces. Nothing here is needed to grade."""
