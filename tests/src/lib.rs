//! (header)
