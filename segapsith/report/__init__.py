"""The HTML report and its SVG charts."""
