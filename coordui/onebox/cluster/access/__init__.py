"""Who asks, and whether they may: tokens, accounts, roles."""
