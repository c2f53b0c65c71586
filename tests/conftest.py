from __future__ import annotations

from hypothesis import settings

# Shared machines pause for longer than any deadline; a test's speed is not what is tested.
settings.register_profile("calm", deadline=None)
settings.load_profile("calm")
