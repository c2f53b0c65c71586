"""Notifications of alarms: the outbox and the channels that deliver them."""
