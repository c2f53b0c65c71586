"""Building runners: sources of commits, recipes, toolchain, and the cache of builds.

builds      building a commit, or copying programs that the user gives
recipes     finding and running the scripts that build       toolchain   what this machine builds with
cache       builds by everything that determines them        records     keys and records of builds
workdirs    working folders of builds, and processes left in them
"""
