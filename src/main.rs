//! The binary: hands the arguments to the library and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    quorum::cli::main(std::env::args_os())
}
