"""Data sets: examples from providers, made once and kept in the cache as example folders.

provider         what a plug-in offers (entry points `edge_harness.data`)
materialise      example folders in the cache
options          options of providers
random_numbers   provider `random`
arrays           provider `files`: numpy's and torch's files
images           provider `images`
digits           provider `digits`
sample_images    provider `sample_images`
"""
