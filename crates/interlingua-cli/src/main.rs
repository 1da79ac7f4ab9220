//! The `interlingua` command. Everything is in the library beside it, so that generators can read the definitions.

use std::process::ExitCode;

fn main() -> ExitCode {
    interlingua_cli::run(std::env::args_os())
}
