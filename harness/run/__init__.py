"""From a plan to results: hold a device, launch, observe."""
