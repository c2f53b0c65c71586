"""Channels that send messages about alarms to people: Slack, Microsoft Teams, Mattermost, e-mail, GitHub.

Each is an entry point of the group `edge_harness.alarm_channels` (`harness.core.alarm_protocols.AlarmChannelFactory`).
"""
