//! The `interlingua` command. All code is in the library of this crate, so that generators can use the flag
//! definitions.

use std::process::ExitCode;

fn main() -> ExitCode {
    interlingua_cli::run(std::env::args_os())
}
