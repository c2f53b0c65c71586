"""Developer services of stand-in iPhones.

archives      values in the form of NSKeyedArchiver
messages      DTX: messages, their fragments and arguments
channels      DTX: a connection, its channels, calls and replies
processes     processes of apps: programs of this machine
crash_reports what an app leaves that a signal ended
instruments   start, end and list processes
callbacks     what an app under test tells of its tests
test_manager  tests of Xcode: the daemon between the one who starts them and the app that runs them
"""
