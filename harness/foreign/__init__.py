"""Figures that other tools measured, read from their files (`harness import`). One module for each format.

    minibench            results of ExecuTorch's apps for phones
    xctest               console of XCTest, as ExecuTorch's tests for iPhones write it
    llama_bench          llama.cpp's llama-bench
    executorch_llm       logs of ExecuTorch's runners of language models
    mlperf_client        results of MLPerf Client
    litert_leaderboard   measurements of LiteRT's leaderboard
    pytorch_v3           PyTorch's benchmark database
    executorch_metrics   names that ExecuTorch's tools give to metrics
    drift                whether the samples of a figure from elsewhere move in one direction

Formats are found by entry point (`harness.core.protocols.ForeignFormat`).
"""
