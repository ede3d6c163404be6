"""Controls and pieces that several screens share."""
