"""Pictures of a run: pairs of a comparison, samples of each launch, rivals as bars, and the state of devices."""
