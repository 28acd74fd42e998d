//! The binary: hands the arguments to the library and returns its exit code.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    quorum::main(std::env::args_os())
}
