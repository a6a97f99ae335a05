"""What each model family promises of its norms. Knowledge is data (`data/*.toml`); the code that expands it exists once."""
