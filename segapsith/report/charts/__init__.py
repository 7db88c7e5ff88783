"""Charts of domains and of their validation, as SVG for a page without scripts.

Every text is escaped, colours come from the style of the page by class, and nothing depends on
chance: the same store gives the same chart.
"""
