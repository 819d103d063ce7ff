//! Messages to prompts, and the conversation that the console has with the model.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use llm::chat::{self, Family, Role};
use llm::engine::Engine;
use llm::tokenizer::TokenId;
use protocol::Settings;
use protocol::event::{Error, ErrorCode};
use protocol::facts::ModelFacts;
use protocol::request::Message;

/// A loaded model and the conversation that the console has with it.
pub(crate) struct ActiveModel<'e> {
    pub engine: Engine<'e>,
    pub facts: ModelFacts,
    /// Prompts and answers as ids. Programs send their own conversations.
    pub conversation: Vec<TokenId>,
}

impl ActiveModel<'_> {
    /// Forgets the conversation.
    pub fn forget(&mut self) {
        self.conversation.clear();
        self.engine.truncate(0);
    }

    /// Text as it is.
    pub fn raw_prompt(&self, text: &str, special: bool) -> Vec<TokenId> {
        let tokenizer = self.engine.tokenizer();
        let bos = tokenizer.bos().filter(|_| tokenizer.add_bos());
        let mut ids: Vec<TokenId> = bos.into_iter().collect();
        tokenizer.encode_into(text, special, &mut ids);
        ids
    }

    /// The whole prompt for the conversation's next question.
    pub fn ask(&self, question: &str, settings: &Settings) -> Vec<TokenId> {
        let (template, tokenizer) = (self.engine.chat(), self.engine.tokenizer());
        if self.conversation.is_empty() {
            let question = chat::Message {
                role: Role::User,
                content: question,
            };
            let system = self.system_message(settings.system.as_deref());
            let messages: Vec<_> = system.into_iter().chain([question]).collect();
            return template.render(tokenizer, &messages, settings.think);
        }
        let mut prompt = self.conversation.clone();
        template.forget_thinking(tokenizer, &mut prompt);
        prompt.extend(template.render_follow_up(tokenizer, question, settings.think));
        prompt
    }

    /// The whole prompt for a program's conversation.
    ///
    /// # Errors
    /// No template, no message, an unknown role, or a last message that is not the user's.
    pub fn render(
        &self,
        messages: &[Message],
        settings: &Settings,
    ) -> Result<Vec<TokenId>, Error<'static>> {
        let template = self.engine.chat();
        let bad_value = |message: String| Err(Error::new(ErrorCode::BadValue, message));
        if template.family() == Family::Raw {
            let message =
                "the model's file has no chat template that is known: use the op complete";
            return Err(Error::new(ErrorCode::NoTemplate, message));
        }
        let mut rendered = Vec::with_capacity(messages.len() + 1);
        for Message { role, content } in messages {
            let Some(known) = Role::from_name(role) else {
                return bad_value(format!(
                    "no role is called {role:?}; there are system, user and assistant"
                ));
            };
            if rendered.is_empty() && known != Role::System {
                rendered.extend(self.system_message(settings.system.as_deref()));
            }
            rendered.push(chat::Message {
                role: known,
                content,
            });
        }
        match rendered.last() {
            None => bad_value(String::from("\"messages\" is empty")),
            Some(message) if message.role != Role::User => {
                bad_value(String::from("the last message must be the user's"))
            }
            Some(_) => Ok(template.render(self.engine.tokenizer(), &rendered, settings.think)),
        }
    }

    /// The system message that the setting asks for; the template puts in its own when there is none.
    fn system_message<'a>(&self, system: Option<&'a str>) -> Option<chat::Message<'a>> {
        let content = system?;
        let has_own = self.engine.chat().default_system().is_some();
        (!content.is_empty() || has_own).then_some(chat::Message {
            role: Role::System,
            content,
        })
    }
}
