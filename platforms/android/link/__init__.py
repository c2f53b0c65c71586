"""Reaching a phone: adb server and protocol, scripts and files, device lock, reconnection, root."""
