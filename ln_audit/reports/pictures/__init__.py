"""The pictures of the HTML report: one file per kind, each a plain function from the report's values to a `Picture`."""
