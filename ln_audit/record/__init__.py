"""Recordings are made here: `capture` around any PyTorch forward pass, `record` for a model that transformers loads.

The only folder that imports torch, transformers and onnxruntime, and only where something is recorded; each is asked for
with a message that says how to install it (the extra `record`).
"""
