"""Release and model files (`.pgm`): their fields, their container, and upgrades of earlier formats."""
