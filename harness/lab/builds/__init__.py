"""Builds of commits by hosts of a lab, each once for everybody.

orders      what to build, and what came of it
client      the side of a command that needs a build
host        process of a host that builds
tasks       functions that run in it
progress    progress of builds, which nobody sees
"""
