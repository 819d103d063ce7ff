//! Hands the firmware's linker script to the links of the images.

fn main() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../linker.ld");
    println!("cargo::rerun-if-changed={script}");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none") {
        println!("cargo::rustc-link-arg-bins=-T{script}");
    }
}
