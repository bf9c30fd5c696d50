"""What of an answer is proved: a bound and its certificate, of one level of it, of a set."""
