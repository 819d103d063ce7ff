//! Which chat format a Jinja template is, from its text.
//!
//! A template is not run: the marks of the family must be in it, and default texts are read from
//! its string literals.

use alloc::string::String;

use super::{ChatTemplate, Family};

impl ChatTemplate {
    /// Recognises a template's family and takes its fixed texts from it.
    pub fn detect(template: &str) -> ChatTemplate {
        let has = |mark| template.contains(mark);
        let family = if has("<|im_start|>") && has("<|im_end|>") {
            if has("enable_thinking") && unescaped(template).contains("<think>\n\n</think>\n\n") {
                Family::Qwen3
            } else {
                Family::ChatMl
            }
        } else if has("<|start_header_id|>") && has("<|eot_id|>") {
            Family::Llama3
        } else if has("[INST]") && has("<<SYS>>") {
            Family::Llama2
        } else if has("<|user|>") && has("<|assistant|>") && has("eos_token") && !has("<|end|>") {
            Family::Zephyr
        } else {
            return ChatTemplate::RAW;
        };
        let default_system = match family {
            Family::ChatMl | Family::Qwen3 => {
                literal(template, "<|im_start|>system\n", "<|im_end|>")
            }
            Family::Llama3 => literal(
                template,
                "<|start_header_id|>system<|end_header_id|>\n\n",
                "<|eot_id|>",
            ),
            Family::Zephyr | Family::Llama2 | Family::Raw => None,
        };
        ChatTemplate {
            family,
            default_system,
            system_preamble: system_preamble(template, family),
            writes_bos: has("bos_token") || has("<|begin_of_text|>"),
            trims: has("| trim") || has("|trim") || has(".strip()"),
        }
    }
}

/// Llama 3.1 and 3.2 begin every system message with two dates. The template asks the machine for
/// today's; this one has no calendar, and takes the date that the template itself falls back to.
fn system_preamble(template: &str, family: Family) -> String {
    const CUTOFF: &str = "Cutting Knowledge Date: ";
    let found = (family == Family::Llama3)
        .then(|| {
            let cutoff = literal(template, CUTOFF, "\n")?;
            let today = literal(template, "set date_string = \"", "\"")?;
            Some(alloc::format!("{CUTOFF}{cutoff}\nToday Date: {today}\n\n"))
        })
        .flatten();
    found.unwrap_or_default()
}

/// The template with its string literals' escapes resolved.
fn unescaped(template: &str) -> String {
    template
        .replace("\\n", "\n")
        .replace("\\'", "'")
        .replace("\\\"", "\"")
}

/// The text between `start` and `end` where it stands there literally: not put together by the
/// template's code. In `start` and `end`, and in what is returned, `\n` is a line feed, however the
/// template writes it.
fn literal(template: &str, start: &str, end: &str) -> Option<String> {
    let unescaped = unescaped(template);
    let mut rest = unescaped.as_str();
    while let Some(at) = rest.find(start) {
        rest = &rest[at + start.len()..];
        let Some(len) = rest.find(end) else { break };
        let text = &rest[..len];
        let is_code = ["{{", "}}", "{%", "%}", "' +", "\" +", "'+", "\"+"]
            .iter()
            .any(|c| text.contains(c));
        if !is_code && !text.is_empty() {
            return Some(String::from(text));
        }
    }
    None
}
