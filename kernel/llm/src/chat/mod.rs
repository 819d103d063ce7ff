//! A conversation as the model was taught to read it.
//!
//! A GGUF file carries its chat format as a Jinja template. Instead of a Jinja engine there are the
//! four families that small models use, recognised from the template's text; default system
//! prompts are taken from the template, not from here. Anything else is raw completion, and
//! [`ChatTemplate::family`] says so.
//!
//! Marks such as `<|im_end|>` enter as control tokens; what people write is encoded apart from
//! them and can never become one.

mod detect;
mod prompt;

use alloc::string::String;
use alloc::vec::Vec;

use crate::gguf::{self, Gguf};
use crate::tokenizer::{TokenId, Tokenizer};
use prompt::{IdPrompt, Prompt, TextPrompt};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions before the conversation.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The role's name in templates and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Role::System, Role::User, Role::Assistant]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// One contribution to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: &'a str,
}

/// A chat format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `<|im_start|>role\n…<|im_end|>\n`: SmolLM2, Qwen2.
    ChatMl,
    /// `[INST] <<SYS>>\n…\n<</SYS>>\n\n… [/INST]`: Llama 2.
    Llama2,
    /// `<|start_header_id|>role<|end_header_id|>\n\n…<|eot_id|>`: Llama 3.
    Llama3,
    /// `<|role|>\n…</s>\n`: Zephyr, TinyLlama.
    Zephyr,
    /// No format that is known: the text is continued as it is.
    Raw,
}

impl Family {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Family::ChatMl => "ChatML",
            Family::Llama2 => "Llama-2",
            Family::Llama3 => "Llama-3",
            Family::Zephyr => "Zephyr",
            Family::Raw => "none (raw completion)",
        }
    }
}

/// The chat format of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatTemplate {
    family: Family,
    /// What the template says when the conversation has no system message.
    default_system: Option<String>,
    /// Llama 3.1 and later: a first paragraph of every system message.
    system_preamble: String,
    /// The template writes the beginning-of-sequence token.
    writes_bos: bool,
    /// The template takes spaces off both ends of what is said.
    trims: bool,
}

impl ChatTemplate {
    /// Continues text as it is.
    pub const RAW: ChatTemplate = ChatTemplate {
        family: Family::Raw,
        default_system: None,
        system_preamble: String::new(),
        writes_bos: false,
        trims: false,
    };

    /// Recognises the format of a file; [`Family::Raw`] when it has no template.
    ///
    /// # Errors
    /// `tokenizer.chat_template` is no string or no text.
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<Self, gguf::Error> {
        let template = gguf.optional_str("tokenizer.chat_template")?;
        Ok(template.map_or(ChatTemplate::RAW, ChatTemplate::detect))
    }

    /// The format's family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The system prompt that applies when none is given, if the template has one.
    pub fn default_system(&self) -> Option<&str> {
        self.default_system.as_deref()
    }

    /// The ids of a conversation from its beginning, up to where the model answers.
    pub fn render(&self, tokenizer: &Tokenizer, messages: &[Message<'_>]) -> Vec<TokenId> {
        let mut prompt = IdPrompt::new(tokenizer);
        if self.writes_bos || tokenizer.add_bos() {
            prompt.bos();
        }
        self.conversation(&mut prompt, messages);
        prompt.finish()
    }

    /// The ids that go on from an answer to the next one: the end of the model's turn (which a
    /// generated answer leaves out), the user's turn, and the beginning of the model's.
    pub fn render_follow_up(&self, tokenizer: &Tokenizer, user: &str) -> Vec<TokenId> {
        let mut prompt = IdPrompt::new(tokenizer);
        self.end_of_answer(&mut prompt);
        self.begin_turn(&mut prompt);
        self.message(&mut prompt, Role::User, user, None);
        self.begin_answer(&mut prompt);
        prompt.finish()
    }

    /// The text of a conversation as the file's template writes it, with the names that stand for
    /// the beginning and the end of a sequence.
    pub fn render_text(&self, messages: &[Message<'_>], bos: &str, eos: &str) -> String {
        let mut prompt = TextPrompt::new(bos, eos);
        if self.writes_bos {
            prompt.bos();
        }
        self.conversation(&mut prompt, messages);
        prompt.finish()
    }

    /// Writes all messages and the beginning of an answer. The first beginning-of-sequence token is
    /// there already.
    fn conversation(&self, prompt: &mut dyn Prompt, messages: &[Message<'_>]) {
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
        self.begin_answer(prompt);
    }

    /// One message, its end included. `system` are instructions to put into a Llama-2 turn.
    fn message(&self, prompt: &mut dyn Prompt, role: Role, content: &str, system: Option<&str>) {
        let trimmed = if self.trims { content.trim() } else { content };
        match self.family {
            Family::ChatMl => {
                prompt.mark("<|im_start|>");
                prompt.text(role.name());
                prompt.text("\n");
                prompt.text(trimmed);
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
    fn end_of_answer(&self, prompt: &mut dyn Prompt) {
        match self.family {
            Family::ChatMl => {
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
    fn begin_turn(&self, prompt: &mut dyn Prompt) {
        if self.family == Family::Llama2 {
            prompt.bos();
        }
    }

    /// What makes the model speak.
    fn begin_answer(&self, prompt: &mut dyn Prompt) {
        match self.family {
            Family::ChatMl => {
                prompt.mark("<|im_start|>");
                prompt.text("assistant\n");
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
