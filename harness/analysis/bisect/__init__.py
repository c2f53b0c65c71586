"""The search for the commit that changed a number, where every answer is noisy."""
