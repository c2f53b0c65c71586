"""Commands that look without measuring: validate, devices, doctor, report, status, builds."""
