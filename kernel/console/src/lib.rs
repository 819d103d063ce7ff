//! What a person or a program types, and what it reads back.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]
