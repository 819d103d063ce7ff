//! On the board's processor every kernel gives the bits of the scalar definition.

use qemu::Machine;
use std::time::Duration;
use tests::boot::image;

const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn neon_twins_give_the_definitions_bits() {
    let image = image("kernels");
    let mut pi = Machine::new(&image.image_path).boot().unwrap();
    pi.expect("ready\n", PATIENCE).unwrap();
    pi.send_line("run").unwrap();
    pi.wait(PATIENCE).unwrap();
    let text = pi.transcript();
    let kernels: Vec<_> = text.lines().filter(|l| l.starts_with("kernel ")).collect();
    assert!(kernels.len() >= 30, "{text}");
    for kernel in kernels {
        assert!(kernel.contains(": 0 of "), "{text}");
        assert!(!kernel.contains(" 0 values"), "{text}");
    }
    assert!(text.contains("result Ok(())"), "{text}");
    assert_eq!(pi.unexpected_log().unwrap(), Vec::<String>::new());
}
