"""From a commit to a runner: where sources come from, how they are built, where builds are kept."""
