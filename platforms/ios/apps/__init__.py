"""Apps on iPhones: their packages, how ours is started and read, and tests of Xcode."""
