"""The report of an alarm, for a person with half a minute: a page, a picture of the series, and the same as JSON."""
