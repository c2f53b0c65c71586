"""Stand-in iPhones: a protocol stand-in that the real go-ios talks to, as it would to an iPhone.

iOS runs on Apple's hardware only, so what stands here is the far end of the protocols: usbmuxd, lockdown, and the
services behind it. An app is real: its executable is a program of this machine, run in the app's container.

lab         start and end stand-in iPhones, and their usbmuxd
model       what one is: model, conditions, apps
phone       one stand-in iPhone: what a test does to it, and what it sees of it
usbmux/     usbmuxd and lockdown: list, pairing, TLS, start of services
services/   AFC, house arrest, installation, battery, system log, crash reports
developer/  DTX: start and end of processes, XCTest
remote/     iOS 17 and later: RemoteXPC, service discovery, app service
apps/       packages (.ipa) around programs of this machine, and the app that speaks our runner's protocol
client      finds go-ios on this machine, or fetches it

Written from public descriptions of the protocols, from go-ios (MIT), and from observation.
"""
