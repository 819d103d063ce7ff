//! Lines of a program.

mod lines;
mod values;

use crate::board::with_board;
use serde_json::Value;

/// What is answered to a line: its id, the code, the message.
fn line(line: impl AsRef<[u8]>, id: impl Into<Value>, code: &str, message: &str) {
    with_board(|board| board.refuses(line, id, code, message));
}
