"""Every family against the library that its models come from: each planted fault must be seen, and nothing else.

A model type is built tiny by transformers, its norms are given values of their own, it is saved and run; then what it saved is
audited whole and with one fault at a time (`faults.py`). Read in the order of the work: `model` and `inputs` build and run it,
`truth` says what its norms compute, `recorded` holds what came out, `faults` and `planting` spoil it, `expected` judges what
ln-audit said, `results` keeps it, `runner` walks, `page` writes docs/family-faults.md.

    python -m scripts.family_faults                         # all model types, resuming
    python -m scripts.family_faults gpt2 llama -v           # some, with every message
    python -m scripts.family_faults --shard 1/4             # every fourth
    python -m scripts.family_faults --page                  # write the page from what was measured
"""
