//! HTTP/1 beyond the corpus.
