"""The tuning loop: the one place where search, model, log and machines meet."""
