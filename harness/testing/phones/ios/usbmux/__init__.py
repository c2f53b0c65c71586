"""Stand-in usbmuxd and lockdown: phones are listed, paired, and their services started."""
