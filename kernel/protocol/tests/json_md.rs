//! The tables of `docs/json.md` are made from the types. `PILM_WRITE_DOCS=1 cargo test -p protocol --test json_md`
//! writes them anew.

mod samples;

use protocol::event::ErrorCode;
use protocol::{Id, Op, json};
use serde_json::Value;
use std::fmt::Write;
use std::{env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");

/// What stands between the marks `<!-- name -->` and `<!-- end of name -->`.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (start, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no mark {name}"));
    let (_, after) = rest
        .split_once(&end)
        .unwrap_or_else(|| panic!("no end mark {name}"));
    format!("{before}{start}{table}{end}{after}")
}

fn requests() -> String {
    let mut table =
        String::from("| op | fields (`?`: optional) | events before `done` |\n|---|---|---|\n");
    for ((op, needed, optional), (_, events)) in Op::fields().into_iter().zip(Op::ALL) {
        let needed = needed.iter().map(|field| format!("`{field}`"));
        let optional = optional.iter().map(|field| format!("`{field}?`"));
        let fields: Vec<String> = needed.chain(optional).collect();
        writeln!(table, "| `{op}` | {} | {events} |", fields.join(", ")).expect("a String");
    }
    table
}

/// The names of an object's fields; those of objects in it in braces.
fn fields(value: &Value) -> Option<String> {
    let object = match value {
        Value::Object(object) => object,
        Value::Array(items) => return fields(items.first()?).map(|inner| format!("[{inner}, …]")),
        _ => return None,
    };
    let fields = object.iter().map(|(name, value)| match fields(value) {
        Some(inner) => format!("`{name}`: {inner}"),
        None => format!("`{name}`"),
    });
    Some(format!("{{{}}}", fields.collect::<Vec<_>>().join(", ")))
}

fn events() -> String {
    let mut table = String::from("| event | fields |\n|---|---|\n");
    for event in samples::events() {
        let mut line = String::new();
        json::write(&mut line, &Id::None, &event).expect("a String takes everything");
        let mut value: Value = serde_json::from_str(&line).expect("JSON");
        let object = value.as_object_mut().expect("an object");
        object.remove("id");
        let name = object.remove("event").expect("every event has a name");
        // The value stands under the name that `key` has.
        let value_of = object.get("key").and_then(Value::as_str).map(str::to_owned);
        if let Some(setting) = value_of.and_then(|key| object.remove(&key)) {
            object.insert("<key>".into(), setting);
        }
        let fields = fields(&value).unwrap_or_default();
        let fields = fields
            .strip_prefix('{')
            .and_then(|fields| fields.strip_suffix('}'))
            .unwrap_or("");
        writeln!(table, "| `{}` | {fields} |", name.as_str().unwrap_or("")).expect("a String");
    }
    table
}

fn codes() -> String {
    let mut table = String::from("| code | meaning |\n|---|---|\n");
    for (code, about) in ErrorCode::ALL {
        let word = serde_json::to_value(code).expect("JSON");
        let word = word.as_str().expect("a word");
        writeln!(table, "| `{word}` | {about} |").expect("a String");
    }
    table
}

#[test]
fn the_page_has_what_the_types_say() {
    let page = fs::read_to_string(PAGE).expect("docs/json.md");
    let mut fresh = page.clone();
    for (name, table) in [
        ("requests", requests()),
        ("events", events()),
        ("codes", codes()),
    ] {
        fresh = with_table(&fresh, name, &table);
    }
    if env::var_os("PILM_WRITE_DOCS").is_some() {
        fs::write(PAGE, &fresh).expect("docs/json.md can be written");
    }
    assert!(
        page == fresh,
        "docs/json.md is stale: PILM_WRITE_DOCS=1 cargo test -p protocol --test json_md"
    );
}

#[test]
fn a_stale_table_is_seen() {
    let page = "a\n<!-- codes -->\nold\n<!-- end of codes -->\nb\n";
    let fresh = with_table(page, "codes", "new\n");
    assert_eq!(fresh, "a\n<!-- codes -->\nnew\n<!-- end of codes -->\nb\n");
}
