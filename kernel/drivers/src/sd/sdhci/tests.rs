//! The controller's driver on fake registers: the exact words written, in their order.

mod base_clocks;
mod by_dma;
mod by_port;
mod chip;
mod commands;
mod fake_words;
mod measure;
mod power;
mod reports;
mod scripts;
mod shadow;
mod storms;
mod window;
