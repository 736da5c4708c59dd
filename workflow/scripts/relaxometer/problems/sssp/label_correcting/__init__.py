"""Label-correcting searches of the survey: block queues and delta-stepping."""
