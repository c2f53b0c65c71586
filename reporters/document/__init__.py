"""What all HTML pages and pictures share: templates that escape every text, one style sheet, one way to draw axes."""
