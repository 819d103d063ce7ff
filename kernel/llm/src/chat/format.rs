//! What each family writes around a message.

use alloc::vec::Vec;

use super::prompt::Piece::{self, Bos, Eos, Mark, Text};
use super::{ChatTemplate, Family, Message, Role, thinking};

impl ChatTemplate {
    /// Writes all messages and the beginning of an answer. The first beginning-of-sequence token is
    /// there already.
    pub(super) fn conversation<'t>(
        &'t self,
        prompt: &mut Vec<Piece<'t>>,
        messages: &'t [Message<'t>],
        think: bool,
    ) {
        let (system, rest) = match messages {
            [first, rest @ ..] if first.role == Role::System => (Some(first.content), rest),
            _ => (self.default_system(), messages),
        };
        // Llama 2 has no turn for instructions: they go into the user's first one.
        let mut in_user_turn = None;
        if self.family == Family::Llama2 {
            in_user_turn = system;
        } else if system.is_some() || !self.system_preamble.is_empty() {
            self.message(prompt, Role::System, system.unwrap_or_default(), None);
        }
        for (i, message) in rest.iter().enumerate() {
            let is_user = message.role == Role::User;
            if i > 0 && is_user {
                self.begin_turn(prompt);
            }
            let system = in_user_turn.take_if(|_| is_user);
            self.message(prompt, message.role, message.content, system);
        }
        self.begin_answer(prompt, think);
    }

    /// One message, its end included. `system` are instructions to put into a Llama-2 turn.
    pub(super) fn message<'t>(
        &'t self,
        prompt: &mut Vec<Piece<'t>>,
        role: Role,
        content: &'t str,
        system: Option<&'t str>,
    ) {
        let trimmed = if self.trims { content.trim() } else { content };
        match self.family {
            Family::ChatMl | Family::Qwen3 => {
                let said = match (self.family, role) {
                    (Family::Qwen3, Role::Assistant) => thinking::said(trimmed),
                    _ => trimmed,
                };
                let header = [Mark("<|im_start|>"), Text(role.name()), Text("\n")];
                prompt.extend(header);
                prompt.push(Text(said));
            }
            Family::Llama3 => {
                prompt.extend(llama3_header(role));
                if role == Role::System {
                    prompt.push(Text(&self.system_preamble));
                }
                prompt.push(Text(trimmed));
            }
            Family::Zephyr => {
                prompt.extend([Mark(zephyr_mark(role)), Text("\n"), Text(trimmed)]);
            }
            Family::Llama2 if role == Role::Assistant => {
                prompt.extend([" ", trimmed, " "].map(Text));
            }
            Family::Llama2 => {
                prompt.push(Text("[INST] "));
                if let Some(system) = system {
                    prompt.extend(["<<SYS>>\n", system, "\n<</SYS>>\n\n"].map(Text));
                }
                prompt.push(Text(match system {
                    // The template trims the turn as a whole, which starts with a mark.
                    Some(_) if self.trims => content.trim_end(),
                    _ => trimmed,
                }));
                prompt.push(Text(" [/INST]"));
                return;
            }
            Family::Raw => {
                prompt.push(Text(content));
                return;
            }
        }
        self.end_of_answer(prompt);
    }

    /// What ends a message, and with it an answer.
    pub(super) fn end_of_answer(&self, prompt: &mut Vec<Piece<'_>>) {
        match self.family {
            Family::ChatMl | Family::Qwen3 => prompt.extend([Mark("<|im_end|>"), Text("\n")]),
            Family::Llama3 => prompt.push(Mark("<|eot_id|>")),
            Family::Zephyr => prompt.extend([Eos, Text("\n")]),
            Family::Llama2 => prompt.push(Eos),
            Family::Raw => {}
        }
    }

    /// What goes before every user's turn but the first.
    pub(super) fn begin_turn(&self, prompt: &mut Vec<Piece<'_>>) {
        if self.family == Family::Llama2 {
            prompt.push(Bos);
        }
    }

    /// What makes the model speak.
    pub(super) fn begin_answer(&self, prompt: &mut Vec<Piece<'_>>, think: bool) {
        match self.family {
            Family::ChatMl | Family::Qwen3 => {
                prompt.extend([Mark("<|im_start|>"), Text("assistant\n")]);
                if self.family == Family::Qwen3 && !think {
                    // A thought that is over already.
                    for mark in [thinking::BEGIN, thinking::END] {
                        prompt.extend([Mark(mark), Text(thinking::GAP)]);
                    }
                }
            }
            Family::Llama3 => prompt.extend(llama3_header(Role::Assistant)),
            Family::Zephyr => prompt.extend([Mark(zephyr_mark(Role::Assistant)), Text("\n")]),
            Family::Llama2 | Family::Raw => {}
        }
    }
}

fn llama3_header(role: Role) -> [Piece<'static>; 4] {
    let (start, end) = ("<|start_header_id|>", "<|end_header_id|>");
    [Mark(start), Text(role.name()), Mark(end), Text("\n\n")]
}

fn zephyr_mark(role: Role) -> &'static str {
    match role {
        Role::System => "<|system|>",
        Role::User => "<|user|>",
        Role::Assistant => "<|assistant|>",
    }
}
