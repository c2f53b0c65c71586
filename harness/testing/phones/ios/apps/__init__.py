"""Apps of stand-in iPhones: packages (.ipa) around programs of this machine.

packages    writes packages: of any program, of a shell, and of a runner
launching   compiles the program that speaks the protocol of runner apps (platforms/ios/apps/protocol.py)
launcher/   its source; everything of the protocol is the C++ that our app for iPhones has too
"""
