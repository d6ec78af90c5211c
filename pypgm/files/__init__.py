"""Release and model files (`.pgm`): what stands in them, their container, and how those of earlier formats are read."""
