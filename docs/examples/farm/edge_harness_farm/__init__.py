"""Platform plug-in: phones of a device farm."""
