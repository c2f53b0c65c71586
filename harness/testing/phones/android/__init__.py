"""Stand-in Android phones: Debian's adbd in namespaces of its own, behind a private adb server."""
