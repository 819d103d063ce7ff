//! A loaded model and the conversation that the person has with it.

use super::info::ModelFacts;
use super::model::Model;
use crate::json::Message;
use crate::settings::Settings;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use llm::chat::{self, Family, Role};
use llm::sampler::{self, Sampler};
use llm::tokenizer::TokenId;

/// A loaded model.
pub(super) struct Seat<'e> {
    pub model: Box<dyn Model + 'e>,
    pub facts: ModelFacts,
    /// The conversation with the person: prompts and answers as ids. Programs send their own.
    pub conversation: Vec<TokenId>,
}

/// Why messages make no prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatError {
    /// No template is known.
    NoTemplate,
    /// There is no message.
    NoMessages,
    /// A role that does not exist.
    UnknownRole { role: String },
    /// The last message is not the user's.
    NotUserLast,
}

impl ChatError {
    /// The `code` of the error event.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NoTemplate => "no_template",
            _ => "bad_value",
        }
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTemplate => f.write_str(
                "the model's file has no chat template that is known: use the op complete",
            ),
            Self::NoMessages => f.write_str("\"messages\" is empty"),
            Self::UnknownRole { role } => write!(
                f,
                "no role is called {role:?}; there are system, user and assistant"
            ),
            Self::NotUserLast => f.write_str("the last message must be the user's"),
        }
    }
}

impl<'e> Seat<'e> {
    /// A seat for a model that has just been loaded.
    pub(super) fn new(model: Box<dyn Model + 'e>, facts: ModelFacts) -> Self {
        Self {
            model,
            facts,
            conversation: Vec::new(),
        }
    }

    /// Forgets the conversation.
    pub(super) fn forget(&mut self) {
        self.conversation.clear();
        self.model.clear();
    }

    /// A sampler that follows the settings.
    pub(super) fn sampler(&self, settings: &Settings, seed: u64) -> Sampler {
        Sampler::new(
            self.model.tokenizer().vocab_size(),
            sampler::Settings {
                temperature: settings.temperature,
                top_k: settings.top_k,
                top_p: settings.top_p,
                min_p: settings.min_p,
                repeat_penalty: settings.repeat_penalty,
                seed,
                ..sampler::Settings::GREEDY
            },
        )
    }

    /// Text as it is.
    pub(super) fn raw_prompt(&self, text: &str, special: bool) -> Vec<TokenId> {
        let tokenizer = self.model.tokenizer();
        let mut ids: Vec<TokenId> = tokenizer
            .bos()
            .filter(|_| tokenizer.add_bos())
            .into_iter()
            .collect();
        tokenizer.encode_into(text, special, &mut ids);
        ids
    }

    /// The whole prompt for the person's next question.
    pub(super) fn ask(&self, question: &str, system: Option<&str>) -> Vec<TokenId> {
        let template = self.model.template();
        if self.conversation.is_empty() {
            let question = chat::Message {
                role: Role::User,
                content: question,
            };
            return match self.system_message(system) {
                Some(system) => template.render(self.model.tokenizer(), &[system, question], false),
                None => template.render(self.model.tokenizer(), &[question], false),
            };
        }
        let mut prompt = self.conversation.clone();
        prompt.extend(template.render_follow_up(self.model.tokenizer(), question, false));
        prompt
    }

    /// The whole prompt for a program's conversation.
    ///
    /// # Errors
    /// [`ChatError`].
    pub(super) fn render(
        &self,
        messages: &[Message],
        system: Option<&str>,
    ) -> Result<Vec<TokenId>, ChatError> {
        let template = self.model.template();
        if template.family() == Family::Raw {
            return Err(ChatError::NoTemplate);
        }
        let mut rendered = Vec::with_capacity(messages.len() + 1);
        for Message { role, content } in messages {
            let role = Role::from_name(role)
                .ok_or_else(|| ChatError::UnknownRole { role: role.clone() })?;
            if rendered.is_empty() && role != Role::System {
                rendered.extend(self.system_message(system));
            }
            rendered.push(chat::Message { role, content });
        }
        match rendered.last() {
            None => Err(ChatError::NoMessages),
            Some(message) if message.role != Role::User => Err(ChatError::NotUserLast),
            Some(_) => Ok(template.render(self.model.tokenizer(), &rendered, false)),
        }
    }

    /// The system message that the setting asks for; the template puts in its own when there is none.
    fn system_message<'a>(&self, system: Option<&'a str>) -> Option<chat::Message<'a>> {
        let content = system?;
        let has_own = self.model.template().default_system().is_some();
        (!content.is_empty() || has_own).then_some(chat::Message {
            role: Role::System,
            content,
        })
    }

    /// Takes a question and its answer into the conversation.
    pub(super) fn settle(&mut self, mut prompt: Vec<TokenId>, answer: &[TokenId]) {
        prompt.extend_from_slice(answer);
        self.conversation = prompt;
    }
}
