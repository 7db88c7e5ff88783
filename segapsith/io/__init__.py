"""From bytes to documents: files, archives, HTTP, encodings, XML, HTML."""
