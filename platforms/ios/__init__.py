"""iPhones and iPads, through go-ios or Apple's own tools.

platform    lists phones, opens one          session     a phone while it is locked: what flows see
options     flags of this platform           devices     identity and parts of a phone
link/       reaching a phone: the protocol of clients, go-ios, devicectl
apps/       packages, the protocol of our runner app, XCTest
files/      content-addressed store in an app's container: nothing is transferred twice
state/      heat, battery, low power mode, readiness
"""
