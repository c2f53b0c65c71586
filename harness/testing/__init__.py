"""What plug-in authors need to test their plug-ins: contract suites and stand-ins."""
