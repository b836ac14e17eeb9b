"""Categories, ordered states and measurements together: counts of the one, moments of all."""
