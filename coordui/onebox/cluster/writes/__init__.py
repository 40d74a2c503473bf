"""Create, update, patch, apply and delete, and what follows from them."""
