use super::{all_circles, sources};
use crate::workspace;
use std::fs;
use std::path::PathBuf;

/// A folder with one package and an ARCHITECTURE.md, gone when dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)], lists: (&str, &str)) -> Tree {
        let root = workspace::output_dir().join("audit-tests").join(name);
        let _ = fs::remove_dir_all(&root);
        let page = format!(
            "<!-- unsafe -->\n| room | sites |\n|---|---|\n{}<!-- end of unsafe -->\n\
             <!-- circles -->\n| file | file |\n|---|---|\n{}<!-- end of circles -->\n",
            lists.0, lists.1
        );
        let all = [("Cargo.toml", ""), ("ARCHITECTURE.md", page.as_str())];
        for (path, text) in all.iter().chain(files) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Tree(root)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn this_tree_is_as_architecture_says() {
    let line = sources(&workspace::root()).unwrap();
    assert!(line.contains("all in their rooms"), "{line}");
}

#[test]
fn a_planted_circle_is_found() {
    let pairs = [
        (
            "use crate::b::B; pub struct A(B);",
            "pub struct B; fn f() { crate::a::A(B); }",
            true,
        ),
        (
            "use super::b::B; pub struct A(B);",
            "pub struct B; fn f() { assert!(super::a::A::ok()); }",
            true,
        ),
        (
            "use crate::{b as other}; pub struct A(other::B);",
            "use crate::A; pub struct B;",
            true,
        ),
        (
            "use crate::b::*; pub struct A(B);",
            "use crate::a::A; pub struct B;",
            true,
        ),
        (
            "use crate::b::B; pub struct A(B);",
            "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }",
            false,
        ),
        (
            "use crate::b::B; pub struct A(B);",
            "/// [`crate::a::A`]\npub struct B;",
            false,
        ),
        (
            "use crate::b::B; pub struct A(B);",
            "use other::a::A; pub struct B(A);",
            false,
        ),
    ];
    for (a, b, is_circle) in pairs {
        let files = [
            ("src/lib.rs", "mod a; mod b; pub use a::A;"),
            ("src/a.rs", a),
            ("src/b.rs", b),
        ];
        let tree = Tree::new("circle", &files, ("", ""));
        let found = all_circles(&tree.0).unwrap();
        assert_eq!(found.len(), usize::from(is_circle), "{a} | {b}: {found:?}");
        let verdict = sources(&tree.0).map_err(|error| error.to_string());
        match is_circle {
            true => assert!(
                verdict
                    .unwrap_err()
                    .starts_with("src/a.rs and src/b.rs name each other:")
            ),
            false => assert!(verdict.is_ok()),
        }
    }
}

#[test]
fn parent_and_child_may_name_each_other() {
    let files = [
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod b; use b::B; pub struct A(B);"),
        ("src/a/b.rs", "use super::A; pub struct B; fn f(_: A) {}"),
    ];
    let tree = Tree::new("family", &files, ("", ""));
    assert!(sources(&tree.0).is_ok());
}

#[test]
fn a_circle_that_is_gone_leaves_the_list() {
    let files = [("src/lib.rs", "")];
    let tree = Tree::new("gone", &files, ("", "| `src/a.rs` | `src/b.rs` |\n"));
    let error = sources(&tree.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "src/a.rs and src/b.rs name each other no more: take the row out of ARCHITECTURE.md's list"
    );
}

#[test]
fn a_planted_site_is_found() {
    let source = "pub fn f() { unsafe { g() } }";
    let outside = Tree::new(
        "outside",
        &[("src/lib.rs", source)],
        ("| `boot/` | 0 |\n", ""),
    );
    let error = sources(&outside.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "src/lib.rs says unsafe 1 times and lies in no room of ARCHITECTURE.md's list"
    );
    let inside = Tree::new(
        "inside",
        &[("src/lib.rs", source)],
        ("| `src/` | 0 |\n", ""),
    );
    let error = sources(&inside.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "src/ says unsafe 1 times, ARCHITECTURE.md's list has 0"
    );
    let listed = Tree::new(
        "listed",
        &[("src/lib.rs", source)],
        ("| `src/` | 0 |\n| `src/lib.rs` | 1 |\n", ""),
    );
    assert!(sources(&listed.0).is_ok());
}
