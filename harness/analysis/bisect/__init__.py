"""Search for the commits that changed a metric, as a pure state machine.

queries        what a search asks, learns and is configured with: values that can be stored
search         the state machine: ask, measure, learn, ask again
policy         which culprits are settled, and what to measure next
proof          proof that two neighbours differ
posterior      probabilities given the answers so far
hidden_markov  model of the level of each commit, beneath them
"""
