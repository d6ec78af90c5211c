"""Tables wherever they are: files, frames, relations, databases; read into codes."""
