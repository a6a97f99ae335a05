"""Every conversion against its source: each planted fault must be named, and every healthy conversion must pass.

A tiny model of each family is made from the family's own table, written into each container in that container's own names and
convention, spoilt in one way, and held to its source with `verify ARTIFACT --against SOURCE`. Read in the order of the work:
`models` makes the tensors, `artifacts` converts them, `writers` writes the files, `faults` and `stated_faults` spoil them,
`registry` says how each fault has to be seen, `trial` runs and judges one, `page` writes docs/source-faults.md.

    python -m scripts.source_faults                     # all, and the page
    python -m scripts.source_faults gpt2 gemma2 -v      # some families, with every message; no page
"""
