//! `fuzz::tokenizer` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::tokenizer::check(data));
