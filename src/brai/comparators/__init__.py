"""The methods that B-RAI is measured against, on the same data, tests and scores."""
