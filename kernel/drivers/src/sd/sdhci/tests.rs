//! The controller's driver on fake registers: the exact words written, in their order.

mod by_dma;
mod by_port;
mod fake_words;
mod shadow;
