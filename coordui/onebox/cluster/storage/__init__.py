"""The objects, their history and how they are found."""
