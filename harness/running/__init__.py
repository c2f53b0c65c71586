"""One job on a held device: launches, pairs, retries."""
