"""Ways to reach iPhones from this machine: one protocol, and the programs behind it."""
