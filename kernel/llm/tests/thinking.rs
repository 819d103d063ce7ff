//! What a model thinks: which tokens, and how a conversation goes on without it.

mod support;

use llm::chat::{ChatTemplate, Message, Role, Thinking};
use llm::tokenizer::{TokenId, Tokenizer};

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
fn only_an_answer_in_a_format_that_thinks_is_forgotten() {
    let tokenizer = qwen3();
    let plain = ChatTemplate::detect(CHAT_ML);
    let thinks = ChatTemplate::detect(QWEN3);
    let said = "This is said, not thought:<think>x</think>\n\nyes";
    let question = plain.render(&tokenizer, &[say(Role::User, said)], true);
    let answered = [question.clone(), tokenizer.encode(said, true)].concat();
    let after = |chat: &ChatTemplate, ids: &[TokenId]| {
        let mut ids = ids.to_vec();
        chat.forget_thinking(&tokenizer, &mut ids);
        ids
    };
    assert_eq!(after(&plain, &answered), answered);
    let kept = [question.clone(), tokenizer.encode("yes", true)].concat();
    assert_eq!(after(&thinks, &answered), kept);
    // Nor is what the user has said, whose turn is the last without the beginning of the answer's.
    let is_control = |id: &TokenId| tokenizer.is_control(*id);
    let users = &question[..question.iter().rposition(is_control).unwrap()];
    assert_eq!(after(&thinks, users), users);
    assert_eq!(after(&thinks, &[]), []);
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
