"""What every reporter says about comparisons: in which order, in which words, and with which figures."""
