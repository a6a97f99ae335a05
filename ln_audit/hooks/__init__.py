"""What pre-commit runs: changed files become the targets that they belong to, and those are verified as ever."""
