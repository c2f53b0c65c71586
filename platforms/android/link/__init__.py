"""The connection to a phone: adb server, shell, file transfer, reconnecting, device lock."""
