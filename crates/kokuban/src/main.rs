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
mod shell;
mod stdin;

use std::process::ExitCode;

use kokuban_client::Board;

use crate::args::{BoardCommand, Cli, ClientArgs, Command};
use crate::failure::Outcome;
use crate::output::{Output, Paint};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FIRST_STEPS: &str = include_str!("first-steps.txt");

fn main() -> ExitCode {
    let cli = Cli::of_process();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.shown(Paint::of_stderr()));
            failure.exit_code()
        }
    }
}

fn run(Cli { client, command }: Cli) -> Outcome {
    let out = Output::new(client.output);
    match command {
        None => Ok(output::print(FIRST_STEPS)?),
        Some(Command::Dev(args)) => serve::serve(&args, serve::Mode::Dev),
        Some(Command::Serve(args)) => serve::serve(&args, serve::Mode::Serve),
        Some(Command::CheckConfig(args)) => commands::check_config::run(&args, Output::for_lines(client.output)),
        Some(Command::Config(args)) => commands::config::run(&args, out),
        Some(Command::Token(args)) => commands::token::run(&args, Output::for_lines(client.output)),
        Some(Command::Backup(args)) => calling(&client, commands::backup::run(&args, &client, out)),
        Some(Command::Restore(args)) => commands::restore::run(&args, out),
        Some(Command::Verify(args)) => commands::verify::run(&args, out),
        Some(Command::Completions(args)) => commands::completions::run(&args),
        Some(Command::Init(args)) => init::run(&args),
        Some(Command::Ready) => calling(&client, commands::ready::run(&client)),
        Some(Command::Demo(args)) => wait_for(demo::run(&args, &client)),
        Some(Command::DemoAgent(args)) => wait_for(demo::agent(&args, &client)),
        Some(Command::Board(args)) => on_boards(args, client, out),
        Some(Command::Export(name)) => on_boards(BoardCommand::Export(name), client, out),
        Some(Command::Blueprint(args)) => calling(&client, commands::blueprint::run(args, &client)),
        Some(Command::Get(args)) => on_board(&client, async |board| commands::get::run(&args, board, out).await),
        Some(Command::Put(args)) => on_board(&client, async |board| commands::write::put(args, board, out).await),
        Some(Command::Patch(args)) => on_board(&client, async |board| commands::write::patch(args, board, out).await),
        Some(Command::Move(args)) => on_board(&client, async |board| commands::write::shift(args, board, out).await),
        Some(Command::Delete(args)) => on_board(&client, async |board| commands::write::delete(args, board, out).await),
        Some(Command::List(args)) => on_board(&client, async |board| commands::list::run(&args, board, out).await),
        Some(Command::Watch(args)) => on_board(&client, async |board| commands::watch::run(&args, board, out).await),
        Some(Command::History(args)) => {
            on_board(&client, async |board| commands::history::run(&args, board, out).await)
        }
        Some(Command::Note(args)) => on_board(&client, async |board| commands::note::run(args, board, out).await),
        Some(Command::Lease(args)) => on_board(&client, async |board| commands::lease::run(args, board, out).await),
        Some(Command::Claim(args)) => on_board(&client, async |board| commands::lease::claim(args, board, out).await),
    }
}

/// A command about whole boards, which may name its board in two places.
fn on_boards(args: BoardCommand, client: ClientArgs, out: Output) -> Outcome {
    let board = args.board().map(str::to_owned).or(client.board);
    let client = ClientArgs { board, ..client };
    calling(&client, commands::board::run(args, &client, out))
}

/// A command on the board that the client options name.
fn on_board(client: &ClientArgs, command: impl AsyncFnOnce(&Board) -> Outcome) -> Outcome {
    calling(client, async { command(&caller::board(client)?).await })
}

/// A command that calls a server; its failure says which one, and as whom.
fn calling(client: &ClientArgs, command: impl Future<Output = Outcome>) -> Outcome {
    wait_for(async {
        match command.await {
            Err(failure) => Err(failure.asked_by(client).await),
            done => done,
        }
    })
}

fn wait_for(command: impl Future<Output = Outcome>) -> Outcome {
    // Client commands wait for the network and little else.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_background();
    outcome
}
