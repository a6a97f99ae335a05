"""What a recording that fits proves, and what it cannot: every fault that would have passed on these very rows as well.

For each hypothesis of `diagnosis` that predicts without an output, the distance of its faults from the reference
(docs/numerics.md, "What a recording can tell"). A fault *can be told* only if each of its own honest runs, rounding and
summing as it likes, would have failed; everything else the recording cannot tell. `resolve.resolve` is the one place that
fills it in.
"""
