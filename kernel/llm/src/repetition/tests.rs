use super::{MAX_PERIOD, Repetition};
use crate::tokenizer::TokenId;
use std::collections::HashMap;

/// Words with the space before them, single digits, and all other characters alone: as vocabularies cut text.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for c in text.chars() {
        let grows = tokens.last().is_some_and(|last| {
            let before = last.chars().next_back();
            c.is_alphabetic() && before.is_some_and(|b| b.is_alphabetic() || b == ' ')
        });
        match tokens.last_mut() {
            Some(last) if grows => last.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    tokens
}

/// After how many tokens `text` is seen to repeat itself.
fn stop(text: &str) -> Option<usize> {
    let mut ids = HashMap::new();
    let mut repetition = Repetition::default();
    tokens(text)
        .iter()
        .position(|token| {
            let next = ids.len() as u32;
            let id = *ids.entry(token.clone()).or_insert(next);
            repetition.push(TokenId(id), token.as_bytes())
        })
        .map(|at| at + 1)
}

/// A piece of `n` different tokens.
fn piece(n: usize) -> String {
    let letters = |i: usize| [b'a' + (i / 26) as u8, b'a' + (i % 26) as u8];
    let words = (0..n).map(|i| format!(" {}", String::from_utf8_lossy(&letters(i))));
    words.collect()
}

#[test]
fn four_copies_of_48_tokens_are_a_repetition() {
    for period in [1, 2, 7, 12, 13, 50, MAX_PERIOD] {
        let least = 48.max(4 * period);
        let text = format!("Once upon a time,{}", piece(period).repeat(60));
        assert_eq!(stop(&text), Some(5 + least), "period {period}");
    }
    assert_eq!(stop(&piece(MAX_PERIOD + 1).repeat(10)), None);
    assert_eq!(stop(&piece(12).repeat(3)), None);
    assert_eq!(stop(&piece(100).repeat(3)), None);
}

#[test]
fn what_goes_on_after_a_few_copies_is_none() {
    let text = format!("{} and then{}", piece(12).repeat(3), piece(12).repeat(3));
    assert_eq!(stop(&text), None);
    // the copies must stand at the end, each like the one before
    let variants: String = (0..10).map(|i| piece(12) + &piece(i + 1)).collect();
    assert_eq!(stop(&variants), None);
}

#[test]
fn a_list_that_differs_in_its_numbers_only_is_a_repetition() {
    let item = "Initialization: The loader loads the boot loader, which is a loader that allows it to boot.";
    let list: String = (1..=30).map(|n| format!("{n}. {item}\n")).collect();
    let items = list.lines().map(|line| tokens(line).len() + 1);
    let first_four: usize = items.take(4).sum();
    let stopped = stop(&list).unwrap();
    assert!(stopped <= first_four, "{stopped} of {first_four}");
    // from nine to ten there is a digit more
    let list: String = (8..=11).map(|n| format!("{n}. {item}\n")).collect();
    assert!(stop(&list).is_some());
}

#[test]
fn texts_that_say_the_same_often_are_none() {
    let counting: String = (1..=200).map(|n| format!("{n}, ")).collect();
    let lines: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let table: String = (1..=20)
        .map(|n| format!("| {n} | {} | {} |\n", n * n, n * n * n))
        .collect();
    let times: String = (1..=12)
        .map(|n| format!("7 times {n} is {}.\n", 7 * n))
        .collect();
    let sums: String = (1..=40)
        .map(|n| format!("{n} + {n} = {}\n", 2 * n))
        .collect();
    let fruits = [
        "Apples",
        "Bananas",
        "Cherries",
        "Dates",
        "Elderberries",
        "Figs",
        "Grapes",
    ];
    let list: String = (1..)
        .zip(fruits)
        .map(|(n, fruit)| format!("{n}. **{fruit}**: a good source of vitamins and fiber.\n"))
        .collect();
    let code = "fn main() {\n    let mut x = 0;\n    x += 1;\n    x += 1;\n    x += 1;\n    println!(\"{x}\");\n}\n\
                match key {\n    'a' => left(),\n    'b' => right(),\n    'c' => up(),\n    'd' => down(),\n    \
                _ => (),\n}\n";
    let refrain = "Row, row, the boat goes by,\nlow, low, beneath the sky.\n";
    let song = format!(
        "The river is wide,\nthe river is deep.\n{}And home we go.\n",
        refrain.repeat(3)
    );
    let poem = "The rain, the rain, the rain on the hill,\nthe wind, the wind, the wind never still,\n\
                the night, the night, the night in the mill,\nand I, and I, and I sit here still.\n";
    let chorus = "Na na na na, na na na na, hey hey hey, goodbye!\n";
    let ruler = format!("Name{}Price\n{}\nTea 2\n", ".".repeat(40), "-".repeat(45));
    let html = "<ul>\n<li>One</li>\n<li>Two</li>\n<li>Three</li>\n<li>Four</li>\n</ul>\n";
    for text in [
        &counting, &lines, &table, &times, &sums, &list, code, &song, poem, chorus, &ruler, html,
    ] {
        assert_eq!(stop(text), None, "{text}");
    }
}

#[test]
fn what_small_models_fall_into_is_found() {
    let phrase = "L'Étoile, la Cité".to_owned() + &", la France".repeat(60);
    let poem = "In twilight's tapestry,\n".to_owned()
        + &"A summer's sigh, a winter's sigh,\nA harvest moon's light, a winter's light,\n"
            .repeat(9);
    let next_step = "The next step is to learn the guitar's sound. This involves learning the soundboard, which is \
                     a very important part of the guitar's sound, and it's a very important part of it.\n\n";
    for text in [phrase, poem, next_step.repeat(6)] {
        let (stopped, all) = (stop(&text), tokens(&text).len());
        assert!(
            stopped.is_some_and(|at| at < all),
            "{stopped:?} of {all}: {text}"
        );
    }
}
