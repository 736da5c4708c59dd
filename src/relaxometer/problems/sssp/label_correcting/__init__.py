"""The label-correcting searches of the survey: queues per block, and delta-stepping."""
