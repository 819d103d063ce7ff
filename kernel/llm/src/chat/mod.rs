//! A conversation as the model was taught to read it.
//!
//! A GGUF file carries its chat format as a Jinja template. Instead of a Jinja engine there are the
//! five families that small models use, recognised from the template's text; default system
//! prompts are taken from the template, not from here. Anything else is raw completion, and
//! [`ChatTemplate::family`] says so.
//!
//! Marks such as `<|im_end|>` enter as control tokens; what people write is encoded apart from
//! them and can never become one.

mod detect;
mod format;
mod prompt;
mod thinking;

use alloc::string::String;
use alloc::vec::Vec;

use crate::gguf::{self, Gguf};
use crate::tokenizer::{TokenId, Tokenizer};
use prompt::Piece;
pub use thinking::Thinking;

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
    /// ChatML with a switch for thinking: Qwen3.
    Qwen3,
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
            Family::Qwen3 => "ChatML with thinking",
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

    /// The ids of a conversation from its beginning, up to where the model answers; `think` lets it think
    /// first where the template has a switch for that.
    pub fn render(
        &self,
        tokenizer: &Tokenizer,
        messages: &[Message<'_>],
        think: bool,
    ) -> Vec<TokenId> {
        let mut prompt = Vec::new();
        if self.writes_bos || tokenizer.add_bos() {
            prompt.push(Piece::Bos);
        }
        self.conversation(&mut prompt, messages, think);
        prompt::ids(&prompt, tokenizer)
    }

    /// The ids that go on from an answer to the next one: the end of the model's turn (which a
    /// generated answer leaves out), the user's turn, and the beginning of the model's.
    pub fn render_follow_up(&self, tokenizer: &Tokenizer, user: &str, think: bool) -> Vec<TokenId> {
        let mut prompt = Vec::new();
        self.end_of_answer(&mut prompt);
        self.begin_turn(&mut prompt);
        self.message(&mut prompt, Role::User, user, None);
        self.begin_answer(&mut prompt, think);
        prompt::ids(&prompt, tokenizer)
    }

    /// The text of a conversation as the file's template writes it, with the names that stand for
    /// the beginning and the end of a sequence.
    pub fn render_text(
        &self,
        messages: &[Message<'_>],
        bos: &str,
        eos: &str,
        think: bool,
    ) -> String {
        let mut prompt = Vec::new();
        if self.writes_bos {
            prompt.push(Piece::Bos);
        }
        self.conversation(&mut prompt, messages, think);
        prompt::text(&prompt, bos, eos)
    }
}
