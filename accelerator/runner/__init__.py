"""What works by itself: services, their tasks, who does one, and what was done."""
