//! From the firmware's hand-over to `kernel_main` on four cores.

#![cfg_attr(target_os = "none", no_std)]
