//! What to generate.

use crate::chat::ActiveModel;
use alloc::vec::Vec;
use llm::tokenizer::TokenId;
use protocol::event::{Error, ErrorCode};
use protocol::request::Logits;
use protocol::settings::Asker;

/// What a prompt is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Text or tokens as they are.
    Text,
    /// A program's messages; the answer is one too.
    Messages,
    /// The console's conversation.
    Conversation,
}

/// What to generate.
pub(crate) struct Plan {
    /// The whole prompt; what of it the model has seen already is not worked in again.
    pub prompt: Vec<TokenId>,
    /// Who gets the answer.
    pub asker: Asker,
    /// The seed of the sampler.
    pub seed: u64,
    /// Whether end-of-generation tokens end nothing.
    pub ignore_eos: bool,
    /// What the prompt is.
    pub source: Source,
    /// Which logits are reported.
    pub logits: Logits,
    /// Whether the work of each core is reported.
    pub counts: bool,
}

impl Plan {
    /// Refuses a prompt that is empty, too long, or has ids that the vocabulary lacks.
    pub fn check(&self, model: &ActiveModel<'_>) -> Result<(), Error<'static>> {
        let context_len = model.engine.context_len();
        let tokens = self.prompt.len();
        if tokens == 0 {
            return Err(Error::new(ErrorCode::EmptyPrompt, "the prompt is empty"));
        }
        if tokens > context_len {
            let is_conversation = self.source == Source::Conversation;
            let message = match is_conversation && !model.conversation.is_empty() {
                true => format_args!(
                    "the context is full: with this question the conversation has {tokens} tokens and \
                     {context_len} fit. /reset starts a new one"
                ),
                false => format_args!(
                    "the prompt has {tokens} tokens and the context takes {context_len}, of which the answer \
                     needs some: shorten it, or load the model with a longer context"
                ),
            };
            return Err(Error::new(ErrorCode::PromptTooLong, message));
        }
        check_ids(&self.prompt, model)
    }
}

/// Refuses ids that the vocabulary lacks.
pub(crate) fn check_ids(ids: &[TokenId], model: &ActiveModel<'_>) -> Result<(), Error<'static>> {
    let vocab_size = model.engine.tokenizer().vocab_size();
    let Some(id) = ids.iter().find(|id| id.index() >= vocab_size) else {
        return Ok(());
    };
    let message = format_args!(
        "token id {} does not exist: the vocabulary has {vocab_size}",
        id.0
    );
    Err(Error::new(ErrorCode::BadValue, message))
}

#[cfg(test)]
mod tests {
    use llm::lookup::Lookup;
    use llm::sampler;
    use protocol::Settings;
    use protocol::settings::MAX_DRAFT_TOKENS;

    #[test]
    fn settings_may_be_what_the_sampler_takes() {
        for (key, range) in [
            ("temperature", sampler::Settings::TEMPERATURE),
            ("top_p", sampler::Settings::TOP_P),
            ("min_p", sampler::Settings::MIN_P),
            ("repeat_penalty", sampler::Settings::REPEAT_PENALTY),
        ] {
            let takes = |value: f32| Settings::default().set(key, &value.to_string()).is_ok();
            let (start, end) = range.into_inner();
            assert!(takes(start) && takes(end), "{key}");
            assert!(!takes(start - 0.001) && !takes(end + 0.001), "{key}");
        }
        assert_eq!(MAX_DRAFT_TOKENS, Lookup::MAX_DRAFT);
    }
}
