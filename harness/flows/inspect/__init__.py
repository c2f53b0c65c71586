"""Inspecting without measuring: validate, devices, doctor, export, report, status, builds, init."""
