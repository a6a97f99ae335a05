"""What a recording shows of the residual stream: how it grows from layer to layer, and what the final norm does to it."""
