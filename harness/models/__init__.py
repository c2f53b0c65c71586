"""The model cache: every file a benchmark needs, downloaded or exported, whole and verified."""
