"""What tells an agent where to explore: counts in tables or by networks, and errors of predictors."""
