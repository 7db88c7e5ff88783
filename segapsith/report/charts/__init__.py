"""Pictures of domains and of their validation, as SVG that stands in a page without scripts.

Every text is escaped, colours come from the page's style by class, and nothing is drawn that
depends on chance: the same store gives the same picture.
"""
