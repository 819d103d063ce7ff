//! A faster line, where the board says that it can.

use crate::client::Link;
use crate::error::Error;
use crate::lines::Heard;
use crate::transport::Transport;
use protocol::event::Line;
use protocol::request::{Info, Set};
use protocol::scalar::Scalar;
use protocol::{Event, Id, Op, Setting};
use std::io;
use std::time::Instant;

/// The speed of a fast line, in baud: adapters and the board's clock of 48 MHz both give it.
pub const FAST_BAUD: u32 = 921_600;

impl<T: Transport> Link<T> {
    /// Goes on at [`FAST_BAUD`] if the board says that it can and the transport takes it; whether it does.
    ///
    /// From then on [`Link::connect`] also tries the speed before: a board that has restarted has that one.
    ///
    /// # Errors
    /// The firmware does not answer, or refuses.
    pub fn speed_up(&mut self) -> Result<bool, Error> {
        let mut max_baud = None;
        self.ask_with(Op::Info(Info {}), &mut |event| {
            if let Event::Info(info) = event {
                max_baud = info.board.max_baud;
            }
        })?;
        let Some(slow) = self.transport().baud() else {
            return Ok(false);
        };
        if slow >= FAST_BAUD || max_baud.is_none_or(|max| max < FAST_BAUD) {
            return Ok(false);
        }
        // an adapter that cannot is no reason to ask the board
        if self.transport().set_baud(FAST_BAUD).is_err() {
            return Ok(false);
        }
        self.transport().set_baud(slow).map_err(Error::Gone)?;
        let id = self.new_id();
        let op = Op::Set(Set {
            key: Setting::Baud.key().to_owned(),
            value: Scalar::of(&FAST_BAUD),
        });
        self.send(id, &op).map_err(Error::Gone)?;
        self.end_of(id)?;
        self.other_baud = Some(slow);
        self.transport().set_baud(FAST_BAUD).map_err(Error::Gone)?;
        self.connect()?;
        Ok(self.transport().baud() == Some(FAST_BAUD))
    }

    /// Waits until the request `id` has ended, or for so long that its end must have been lost, as everything may.
    fn end_of(&mut self, id: i64) -> Result<(), Error> {
        let deadline = Instant::now() + self.options().quiet;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.line(left).map_err(Error::Gone)? {
                Some(Heard::Event(line)) => match *line {
                    Line {
                        id: Id::Number(of),
                        event: Event::Done(_),
                        ..
                    } if of == id => return Ok(()),
                    Line {
                        id: Id::Number(of),
                        event: Event::Error(error),
                        ..
                    } if of == id => return Err(Error::Refused(error)),
                    _ => {}
                },
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// Goes on at the other speed that the firmware may have.
    pub(crate) fn swap_speeds(&mut self) -> io::Result<()> {
        let Some(other) = self.other_baud else {
            return Ok(());
        };
        let now = self.transport().baud();
        self.transport().set_baud(other)?;
        self.other_baud = now;
        Ok(())
    }
}
