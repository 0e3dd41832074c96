"""One module per request: validate, decide, return. A handler reads the image and writes records, never the reverse."""
