"""Tests for authors of plug-ins: contract suites, example results, a recording progress, and stand-in phones.

platforms, frameworks, reporters, sources, alarm_channels
                                            contract suites: each a case to describe a plug-in, and CHECKS to run on it
contract                                    what they share: `ContractBroken`
results, progress                           example results; a progress that records
phones                                      stand-in phones
"""
