"""The inverted index from words to domains or events, as arrays with compiled loops."""
