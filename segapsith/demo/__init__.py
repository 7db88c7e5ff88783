"""The bundled sample wire and the demonstration."""
