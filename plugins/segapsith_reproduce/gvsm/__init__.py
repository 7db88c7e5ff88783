"""The tables of Farahat and Kamel (2010) on generalized vector space models."""
