//! Streams over real connections: cuts at every byte, filters, slow readers, text that would forge events.
//!
//! Not known here: kills of the server; see `kills`.

mod cases;
