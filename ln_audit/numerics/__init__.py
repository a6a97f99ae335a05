"""Float64 truth: the reference, the tolerance, the rounding cells, and the comparison of recorded rows with them.

Numpy arrays go in, values come out; nothing here reads files, prints, or knows a checkpoint. `compare.compare` is the
entrance; the others are the formulas it is made of, one file each.
"""
