"""State of a phone: temperature, battery, clocks, energy, readiness."""
