"""Configuration: command-line options, environment, files, and the settings that they amount to."""
