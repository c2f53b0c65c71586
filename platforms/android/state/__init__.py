"""State of a phone: heat, battery, clocks, energy, readiness."""
