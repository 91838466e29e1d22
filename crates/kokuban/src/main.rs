//! The one binary: `kokuban serve`, `dev`, `demo`, and the client commands.
//!
//! Invariant: every way out has an exit code of contract §13; nothing but results goes to standard output.
//! Not known here: what commands do (`commands`, `demo`, `serve`).

mod args;
mod caller;
mod commands;
mod credential;
mod demo;
mod failure;
mod init;
mod output;
mod serve;
mod stdin;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Outcome;
use crate::output::Output;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FIRST_STEPS: &str = "\
Kokuban is a networked blackboard for teams of agents. The first three things to do:

  kokuban demo                      watch three agents work on one board, with all that can go wrong
  kokuban dev                       run a server here, in memory, boards made by their first write
  kokuban put -b first working/hello '\"world\"'
                                    write the first entry (in another terminal), then
                                    `kokuban watch -b first --after start` follows the board

All commands: kokuban --help";

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            failure.exit_code()
        }
    }
}

fn run(cli: Cli) -> Outcome {
    let Some(command) = cli.command else {
        return Ok(output::print(FIRST_STEPS)?);
    };
    match command {
        Command::Serve(args) => serve::serve(&args, serve::Mode::Serve),
        Command::Dev(args) => serve::serve(&args, serve::Mode::Dev),
        Command::Verify(args) => commands::verify::run(&args),
        Command::CheckConfig(args) => commands::check_config::run(&args),
        Command::Token(args) => commands::token::run(&args),
        Command::Init(args) => init::run(&args),
        other => {
            // Client commands wait for the network and little else.
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            let outcome = runtime.block_on(client_command(other, &cli.client));
            runtime.shutdown_background();
            outcome
        }
    }
}

async fn client_command(command: Command, client: &args::ClientArgs) -> Outcome {
    let out = Output::new(client.output);
    match command {
        Command::Demo(args) => demo::run(&args, client).await,
        Command::DemoAgent(args) => demo::agent(&args, client).await,
        Command::Ready => commands::ready::run(client).await.map_err(|f| f.asked_by(client)),
        Command::Board(args) => commands::board::run(args, client, out).await.map_err(|f| f.asked_by(client)),
        other => board_command(other, client, out).await.map_err(|f| f.asked_by(client)),
    }
}

async fn board_command(command: Command, client: &args::ClientArgs, out: Output) -> Outcome {
    let board = caller::board(client)?;
    match command {
        Command::Get(args) => commands::get::run(&args, &board, out).await,
        Command::Put(args) => commands::write::put(args, &board, out).await,
        Command::Patch(args) => commands::write::patch(args, &board, out).await,
        Command::Move(args) => commands::write::shift(args, &board, out).await,
        Command::Delete(args) => commands::write::delete(args, &board, out).await,
        Command::List(args) => commands::list::run(&args, &board, out).await,
        Command::Watch(args) => commands::watch::run(&args, &board, out).await,
        Command::History(args) => commands::history::run(&args, &board, out).await,
        Command::Export => commands::export::run(&board).await,
        Command::Note(args) => commands::note::run(args, &board, out).await,
        Command::Lease(args) => commands::lease::run(args, &board, out).await,
        Command::Claim(args) => commands::lease::claim(args, &board, out).await,
        Command::Serve(_)
        | Command::Dev(_)
        | Command::Demo(_)
        | Command::DemoAgent(_)
        | Command::Ready
        | Command::Init(_)
        | Command::Board(_)
        | Command::Verify(_)
        | Command::CheckConfig(_)
        | Command::Token(_) => unreachable!("handled above"),
    }
}
