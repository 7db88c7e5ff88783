"""Words: vocabulary, weights, multi-word terms, co-occurrence network, word vectors."""
