"""What a configuration asks for, checked before anything runs."""
