//! The default model, once: the same bits in QEMU as on the host, with four cores and with one.

use protocol::event::Tokens;
use protocol::request::Tokenize;
use protocol::{Event, Op, Setting};
use std::fs;
use tests::boot::boot;
use tests::card::Card;
use tests::host;
use tests::requests::{event, prompt_checksums, reset, set};
use xtask::card::{CardFile, fitting_size};
use xtask::setup::model;
use xtask::voice::Voice;

#[test]
fn the_default_model_answers_with_the_bits_of_the_host() {
    let path = model::ensure(Voice::new(true)).unwrap_or_else(|error| panic!("{error:#}"));
    let files = [CardFile::path("default.gguf", &path)];
    let card = Card::sized(fitting_size(&files).unwrap(), &files);
    let mut pi = boot(&card);

    let op = Op::Tokenize(Tokenize {
        text: "Gravity is a force that".to_owned(),
        special: false,
    });
    let Event::Tokens(Tokens { ids, .. }) = event(&mut pi, op) else {
        panic!("no ids");
    };
    assert!(ids.len() > 3, "{ids:?}");

    let expected = host::checksums(&fs::read(&path).unwrap(), &ids, 2);
    for cores in [4usize, 1] {
        set(&mut pi, Setting::Cores, cores);
        reset(&mut pi);
        let found = prompt_checksums(&mut pi, &ids);
        assert_eq!(found, expected, "{cores} cores");
    }
}
