//! Any text as a chat template.

use llm::chat::{ChatTemplate, Family, Message, Role};

/// A template is recognised or raw, and what it renders holds every word that was said.
pub fn check(data: &[u8]) {
    let template = String::from_utf8_lossy(data);
    let chat = ChatTemplate::detect(&template);
    let said = ["first words", "second words", "third words"];
    let messages = [
        Message {
            role: Role::User,
            content: said[0],
        },
        Message {
            role: Role::Assistant,
            content: said[1],
        },
        Message {
            role: Role::User,
            content: said[2],
        },
    ];
    let text = chat.render_text(&messages, "<bos>", "<eos>", false);
    let mut from = 0;
    for words in said {
        let at = text[from..]
            .find(words)
            .expect("in the order of the conversation");
        from += at + words.len();
    }
    if let Some(system) = chat.default_system() {
        assert!(text.contains(system.trim()));
    }
    if chat.family() == Family::Raw {
        assert_eq!(text, said.concat());
    }
}
