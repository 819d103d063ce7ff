//! Events on their way out. A token costs no allocation: its text and logits lie in buffers that are used
//! again once everything was taken.

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use llm::tokenizer::{TokenId, Tokenizer};
use protocol::Id;
use protocol::event::{Event, Logits, Text, Token, Top, TopEntry};

/// An event, or where its parts lie.
enum Item {
    Token {
        token: u32,
        text: Range<usize>,
        thinking: bool,
    },
    Text(Range<usize>),
    Logits {
        position: usize,
        crc32c: Option<u32>,
        top: Option<Largest>,
    },
    Event(Event<'static>),
}

/// What is told of the largest logits: a part of the list, and the sum.
struct Largest {
    entries: Range<usize>,
    log_sum_exp: f64,
}

/// Events that wait to be taken, each with the name of its request.
pub(crate) struct EventQueue {
    items: VecDeque<(Rc<Id>, Item)>,
    text: String,
    top: Vec<TopEntry>,
    /// The bytes of the tokens in `top`, and of how many.
    top_bytes: Vec<u8>,
    n_spelled: usize,
    /// The request that answers come from now.
    id: Rc<Id>,
    /// That of the event that was taken last.
    taken: Rc<Id>,
}

impl EventQueue {
    /// Room for what one step of a generation has to say.
    pub fn new() -> Self {
        let id = Rc::new(Id::None);
        Self {
            items: VecDeque::with_capacity(64),
            // No token of any published vocabulary is longer; a longer one costs an allocation, nothing else.
            text: String::with_capacity(1024),
            top: Vec::with_capacity(protocol::request::Logits::MAX_TOP),
            top_bytes: Vec::with_capacity(16 * protocol::request::Logits::MAX_TOP),
            n_spelled: 0,
            taken: id.clone(),
            id,
        }
    }

    /// What is put in from now on answers the request `id`.
    pub fn answers(&mut self, id: &Rc<Id>) {
        self.id = id.clone();
        if self.items.is_empty() {
            // The name before goes now, not while tokens are generated and the heap is watched.
            self.taken = id.clone();
        }
    }

    /// The name of the request that is answered.
    pub fn id(&self) -> &Rc<Id> {
        &self.id
    }

    fn push(&mut self, item: Item) {
        self.items.push_back((self.id.clone(), item));
    }

    /// Puts a token in, whose text `fill` writes.
    pub fn token(&mut self, token: u32, thinking: bool, fill: impl FnOnce(&mut String)) {
        let text = self.text(fill);
        self.push(Item::Token {
            token,
            text,
            thinking,
        });
    }

    /// Puts text in, unless `fill` writes none.
    pub fn rest(&mut self, fill: impl FnOnce(&mut String)) {
        let text = self.text(fill);
        if !text.is_empty() {
            self.push(Item::Text(text));
        }
    }

    /// Puts logits in, whose largest ones `fill` writes; it returns the logarithm of the sum. [`EventQueue::spell`]
    /// is to follow.
    pub fn logits(
        &mut self,
        position: usize,
        crc32c: Option<u32>,
        fill: Option<impl FnOnce(&mut Vec<TopEntry>) -> f64>,
    ) {
        self.reuse();
        let start = self.top.len();
        let top = fill.map(|fill| {
            let log_sum_exp = fill(&mut self.top);
            Largest {
                entries: start..self.top.len(),
                log_sum_exp,
            }
        });
        self.push(Item::Logits {
            position,
            crc32c,
            top,
        });
    }

    /// Gives the tokens of the largest logits their bytes.
    pub fn spell(&mut self, tokenizer: &Tokenizer) {
        for entry in &mut self.top[self.n_spelled..] {
            let id = u32::try_from(entry.id).map(TokenId);
            let id = id.ok().filter(|&id| !tokenizer.is_control(id));
            let bytes = id.map_or(&[][..], |id| tokenizer.decode_bytes(id));
            self.top_bytes.extend_from_slice(bytes);
            entry.n_bytes = bytes.len();
        }
        self.n_spelled = self.top.len();
    }

    fn text(&mut self, fill: impl FnOnce(&mut String)) -> Range<usize> {
        self.reuse();
        let start = self.text.len();
        fill(&mut self.text);
        start..self.text.len()
    }

    fn reuse(&mut self) {
        if self.items.is_empty() {
            self.text.clear();
            self.top.clear();
            self.top_bytes.clear();
            self.n_spelled = 0;
        }
    }

    fn top(&self, entries: Range<usize>) -> Top<'_> {
        let n_bytes = |entries: &[TopEntry]| entries.iter().map(|entry| entry.n_bytes).sum();
        let start: usize = n_bytes(&self.top[..entries.start]);
        let entries = &self.top[entries];
        let bytes = &self.top_bytes[start..][..n_bytes(entries)];
        Top {
            entries: Cow::Borrowed(entries),
            bytes: Cow::Borrowed(bytes),
        }
    }

    /// The next event, and the name of its request.
    pub fn take(&mut self) -> Option<(&Id, Event<'_>)> {
        let (id, item) = self.items.pop_front()?;
        self.taken = id;
        let event = match item {
            Item::Token {
                token,
                text,
                thinking,
            } => Event::Token(Token {
                token,
                text: Cow::Borrowed(&self.text[text]),
                thinking,
            }),
            Item::Text(text) => Event::Text(Text {
                text: Cow::Borrowed(&self.text[text]),
            }),
            Item::Logits {
                position,
                crc32c,
                top,
            } => Event::Logits(Logits {
                position,
                crc32c,
                log_sum_exp: top.as_ref().map(|top| top.log_sum_exp),
                top: top.map(|top| self.top(top.entries)),
            }),
            Item::Event(event) => event,
        };
        Some((&self.taken, event))
    }
}

impl lab::Report for EventQueue {
    fn event(&mut self, event: Event<'static>) {
        self.push(Item::Event(event));
    }
}
