//! Events: the lines that a program reads.

use super::screen::Screen;
use crate::json::{Id, Object};
use core::fmt;

/// Writes events that answer one request.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    screen: Screen<'a>,
    id: &'a Id,
}

impl<'a> Events<'a> {
    /// Events that carry `id`.
    pub fn new(screen: Screen<'a>, id: &'a Id) -> Self {
        Self { screen, id }
    }

    /// One event, whose fields `fill` adds.
    pub fn event(&self, event: &str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut screen = self.screen;
        // The serial line takes everything.
        let _ = Object::write(&mut screen, |object| {
            object.field("id", self.id).field("event", event);
            fill(object);
        });
        screen.put("\n");
    }

    /// An error: the request is over.
    pub fn error(&self, code: &str, message: impl fmt::Display) {
        self.event("error", |object| {
            object
                .field("code", code)
                .field("message", format_args!("{message}"));
        });
    }
}
