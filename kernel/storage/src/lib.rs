//! Card blocks to files.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]
