//! `kokuban lease …` and `kokuban claim`.

use kokuban_api::bodies::{Claim, LeaseRenewal, LeaseRequest};
use kokuban_client::Board;
use kokuban_core::ids::LeaseToken;

use super::show;
use crate::args::{ClaimArgs, LeaseCommand};
use crate::failure::Outcome;
use crate::output::{Output, complain, print};

pub(crate) async fn run(command: LeaseCommand, board: &Board, out: Output) -> Outcome {
    match command {
        LeaseCommand::Acquire { entry, ttl_ms, wait_ms, takeover } => {
            let request = LeaseRequest { ttl_ms, wait_ms: wait_ms.unwrap_or(0), takeover };
            Ok(out.one(&board.acquire(&entry, &request).await?, show::lease)?)
        }
        LeaseCommand::Renew { entry, lease_token, ttl_ms } => {
            let renewal = LeaseRenewal { lease_token: LeaseToken(lease_token), ttl_ms };
            Ok(out.one(&board.renew(&entry, &renewal).await?, show::lease)?)
        }
        LeaseCommand::Release { entry, lease_token } => {
            board.release(&entry, LeaseToken(lease_token)).await?;
            Ok(print(&format!("released {entry}"))?)
        }
        LeaseCommand::Show { entry } => Ok(out.one(&board.lease_of(&entry).await?, show::lease)?),
        LeaseCommand::Revoke { entry, reason } => {
            board.revoke(&entry, reason.as_deref()).await?;
            Ok(print(&format!("revoked {entry}"))?)
        }
    }
}

/// Nothing to claim is success without output.
pub(crate) async fn claim(args: ClaimArgs, board: &Board, out: Output) -> Outcome {
    let claim = Claim {
        zone: args.zone,
        status: args.status,
        prefix: args.prefix,
        ttl_ms: args.ttl_ms,
        to_status: args.to_status,
        wait_ms: args.wait_ms.unwrap_or(0),
    };
    match board.claim(&claim).await? {
        Some(granted) => Ok(out.one(&granted, |granted| {
            format!("{}\n  {:<10} {}", show::entry(&granted.entry), "lease", show::lease(&granted.lease))
        })?),
        None => {
            complain("nothing to claim there now");
            Ok(())
        }
    }
}
