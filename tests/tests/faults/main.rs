//! Faults, one to a test: each ends in its line, the console answers, and the next answer is the one without the fault.

mod board;
mod cards;
mod console;
mod fats;
mod ggufs;
mod json;
mod start;
mod tables;
mod texts;
