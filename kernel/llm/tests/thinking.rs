//! What a model thinks: which tokens, and how a conversation goes on without it.

mod support;

use llm::chat::{ChatTemplate, Message, Role, Thinking};
use llm::tokenizer::Tokenizer;

const CHAT_ML: &str = include_str!("templates/chatml.jinja");
const QWEN3: &str = include_str!("templates/qwen3.jinja");

fn say(role: Role, content: &str) -> Message<'_> {
    Message { role, content }
}

/// Qwen2's cutting of words, with Qwen3's tokens for thinking.
fn qwen3() -> Tokenizer {
    let more = ["<think>", "</think>"];
    let builder = support::byte_pair_builder_with("bpe512-qwen2.json", "qwen2", &more);
    support::tokenizer(&builder)
}

#[test]
fn marks_of_thinking_are_tokens() {
    let tokenizer = qwen3();
    let chat = ChatTemplate::detect(QWEN3);
    let messages = [
        say(Role::User, "Hi"),
        say(Role::Assistant, "<think>\nA greeting.\n</think>\n\nHello!"),
        say(Role::User, "Who are you?"),
    ];
    for think in [false, true] {
        let text = chat.render_text(&messages, "", "", think);
        let ids = chat.render(&tokenizer, &messages, think);
        assert_eq!(ids, tokenizer.encode(&text, true), "{text}");
        let end = tokenizer.encode("</think>\n\n", true);
        assert_eq!(ids.ends_with(&end), !think, "{text}");
    }
}

#[test]
fn a_follow_up_goes_on_without_what_was_thought() {
    let tokenizer = qwen3();
    let chat = ChatTemplate::detect(QWEN3);
    let first = [say(Role::System, "Be kind."), say(Role::User, "Hi")];
    for (think, answer) in [
        (false, "Hello!"),
        (true, "<think>\nA greeting.\n</think>\n\nHello!"),
        (true, "<think>a</think> <think>b</think>\nHello!\n"),
        (true, "<think>\nToo long a thou"),
        (true, "Hello!"),
        (true, "<think></think>"),
    ] {
        let whole = [
            first[0],
            first[1],
            say(Role::Assistant, answer),
            say(Role::User, "Bye"),
        ];
        let mut ids = chat.render(&tokenizer, &first, think);
        ids.extend(tokenizer.encode(answer, true));
        chat.forget_thinking(&tokenizer, &mut ids);
        ids.extend(chat.render_follow_up(&tokenizer, "Bye", think));
        assert_eq!(ids, chat.render(&tokenizer, &whole, think), "{answer}");
    }
}

#[test]
fn only_the_last_turn_of_a_format_that_thinks_is_forgotten() {
    let tokenizer = qwen3();
    let said = "<think>x</think>\n\nyes";
    let plain = ChatTemplate::detect(CHAT_ML);
    let thinks = ChatTemplate::detect(QWEN3);
    let mut ids = plain.render(&tokenizer, &[say(Role::User, said)], true);
    let user = ids.clone();
    plain.forget_thinking(&tokenizer, &mut ids);
    assert_eq!(ids, user);
    // A turn of the user's stays as it is, be it the last or one before.
    ids.truncate(
        ids.iter()
            .rposition(|id| tokenizer.is_control(*id))
            .unwrap(),
    );
    let user = ids.clone();
    thinks.forget_thinking(&tokenizer, &mut ids);
    assert_eq!(ids, user);
    ids = thinks.render(&tokenizer, &[say(Role::User, said)], true);
    let question = ids.clone();
    ids.extend(tokenizer.encode(said, true));
    thinks.forget_thinking(&tokenizer, &mut ids);
    assert_eq!(ids, [question, tokenizer.encode("yes", true)].concat());
}

#[test]
fn thinking_lasts_from_mark_to_mark() {
    let tokenizer = qwen3();
    let marks = |tokenizer: &Tokenizer, answer: &str| -> Vec<bool> {
        let mut thinking = Thinking::new(tokenizer);
        let ids = tokenizer.encode(answer, true);
        ids.into_iter().map(|id| thinking.is_thinking(id)).collect()
    };
    let n = |text| tokenizer.encode(text, true).len();
    let (before, thought, after) = ("So", "a b", "\n\nYes");
    let answer = format!("{before}<think>{thought}</think>{after}");
    let expected = [
        vec![false; n(before)],
        vec![true; 1 + n(thought) + 1],
        vec![false; n(after)],
    ];
    assert_eq!(marks(&tokenizer, &answer), expected.concat());
    assert_eq!(marks(&tokenizer, "<think>"), [true]);
    assert_eq!(marks(&tokenizer, "</think>"), [false]);
    let without = support::tokenizer(&support::byte_pair_builder("bpe512-qwen2.json", "qwen2"));
    assert!(!marks(&without, &answer).contains(&true));
}
