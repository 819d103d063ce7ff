//! What each family writes around a message.

use super::prompt::Prompt;
use super::{ChatTemplate, Family, Message, Role, thinking};

impl ChatTemplate {
    /// Writes all messages and the beginning of an answer. The first beginning-of-sequence token is
    /// there already.
    pub(super) fn conversation(
        &self,
        prompt: &mut dyn Prompt,
        messages: &[Message<'_>],
        think: bool,
    ) {
        let (system, rest) = match messages {
            [
                Message {
                    role: Role::System,
                    content,
                },
                rest @ ..,
            ] => (Some(*content), rest),
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
            if i > 0 && message.role == Role::User {
                self.begin_turn(prompt);
            }
            let system = if message.role == Role::User {
                in_user_turn.take()
            } else {
                None
            };
            self.message(prompt, message.role, message.content, system);
        }
        self.begin_answer(prompt, think);
    }

    /// One message, its end included. `system` are instructions to put into a Llama-2 turn.
    pub(super) fn message(
        &self,
        prompt: &mut dyn Prompt,
        role: Role,
        content: &str,
        system: Option<&str>,
    ) {
        let trimmed = if self.trims { content.trim() } else { content };
        match self.family {
            Family::ChatMl | Family::Qwen3 => {
                prompt.mark("<|im_start|>");
                prompt.text(role.name());
                prompt.text("\n");
                prompt.text(match (self.family, role) {
                    (Family::Qwen3, Role::Assistant) => thinking::said(trimmed),
                    _ => trimmed,
                });
            }
            Family::Llama3 => {
                prompt.mark("<|start_header_id|>");
                prompt.text(role.name());
                prompt.mark("<|end_header_id|>");
                prompt.text("\n\n");
                if role == Role::System {
                    prompt.text(&self.system_preamble);
                }
                prompt.text(trimmed);
            }
            Family::Zephyr => {
                prompt.mark(zephyr_mark(role));
                prompt.text("\n");
                prompt.text(trimmed);
            }
            Family::Llama2 => match role {
                Role::Assistant => {
                    prompt.text(" ");
                    prompt.text(trimmed);
                    prompt.text(" ");
                }
                Role::System | Role::User => {
                    prompt.text("[INST] ");
                    match system {
                        Some(system) => {
                            prompt.text("<<SYS>>\n");
                            prompt.text(system);
                            prompt.text("\n<</SYS>>\n\n");
                            // The template trims the turn as a whole, which starts with a mark.
                            prompt.text(if self.trims {
                                content.trim_end()
                            } else {
                                content
                            });
                        }
                        None => prompt.text(trimmed),
                    }
                    prompt.text(" [/INST]");
                    return;
                }
            },
            Family::Raw => {
                prompt.text(content);
                return;
            }
        }
        self.end_of_answer(prompt);
    }

    /// What ends a message, and with it an answer.
    pub(super) fn end_of_answer(&self, prompt: &mut dyn Prompt) {
        match self.family {
            Family::ChatMl | Family::Qwen3 => {
                prompt.mark("<|im_end|>");
                prompt.text("\n");
            }
            Family::Llama3 => prompt.mark("<|eot_id|>"),
            Family::Zephyr => {
                prompt.eos();
                prompt.text("\n");
            }
            Family::Llama2 => prompt.eos(),
            Family::Raw => {}
        }
    }

    /// What goes before every user's turn but the first.
    pub(super) fn begin_turn(&self, prompt: &mut dyn Prompt) {
        if self.family == Family::Llama2 {
            prompt.bos();
        }
    }

    /// What makes the model speak.
    pub(super) fn begin_answer(&self, prompt: &mut dyn Prompt, think: bool) {
        match self.family {
            Family::ChatMl | Family::Qwen3 => {
                prompt.mark("<|im_start|>");
                prompt.text("assistant\n");
                if self.family == Family::Qwen3 && !think {
                    // A thought that is over already.
                    prompt.mark(thinking::BEGIN);
                    prompt.text(thinking::GAP);
                    prompt.mark(thinking::END);
                    prompt.text(thinking::GAP);
                }
            }
            Family::Llama3 => {
                prompt.mark("<|start_header_id|>");
                prompt.text("assistant");
                prompt.mark("<|end_header_id|>");
                prompt.text("\n\n");
            }
            Family::Zephyr => {
                prompt.mark(zephyr_mark(Role::Assistant));
                prompt.text("\n");
            }
            Family::Llama2 | Family::Raw => {}
        }
    }
}

fn zephyr_mark(role: Role) -> &'static str {
    match role {
        Role::System => "<|system|>",
        Role::User => "<|user|>",
        Role::Assistant => "<|assistant|>",
    }
}
