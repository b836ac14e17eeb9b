"""What people look at: summary, plots, report."""
