"""Services of a stand-in iPhone that lockdown starts."""
