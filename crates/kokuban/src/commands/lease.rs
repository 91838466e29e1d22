//! `kokuban lease …` and `kokuban claim`.

use kokuban_api::bodies::{Claim, LeaseRenewal, LeaseRequest};
use kokuban_client::Board;
use kokuban_core::ids::LeaseToken;
use serde_json::json;

use super::show;
use crate::args::{ClaimArgs, LeaseCommand};
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::{Output, complain};

pub(crate) async fn run(command: LeaseCommand, board: &Board, out: Output) -> Outcome {
    match command {
        LeaseCommand::Acquire { entry, ttl_ms, wait_ms, takeover } => {
            let request = LeaseRequest { ttl_ms, wait_ms: wait_ms.unwrap_or(0), takeover };
            let attempt = Attempt::on("lease acquire", &entry).with_flag("--ttl-ms", ttl_ms);
            let granted = board.acquire(&entry, &request).await.map_err(Failure::trying(attempt))?;
            Ok(out.one(&granted, show::lease)?)
        }
        LeaseCommand::Renew { entry, lease_token, ttl_ms } => {
            let renewal = LeaseRenewal { lease_token: LeaseToken(lease_token), ttl_ms };
            let attempt = Attempt::on("lease renew", &entry);
            let renewed = board.renew(&entry, &renewal).await.map_err(Failure::trying(attempt))?;
            Ok(out.one(&renewed, show::lease)?)
        }
        LeaseCommand::Release { entry, lease_token } => {
            let released = board.release(&entry, LeaseToken(lease_token)).await;
            released.map_err(Failure::trying(Attempt::on("lease release", &entry)))?;
            Ok(out.one(&json!({"released": entry.to_string()}), |_| format!("released {entry}"))?)
        }
        LeaseCommand::Show { entry } => {
            let shown = board.lease_of(&entry).await.map_err(Failure::trying(Attempt::on("lease show", &entry)))?;
            Ok(out.one(&shown, show::lease)?)
        }
        LeaseCommand::Revoke { entry, reason } => {
            let revoked = board.revoke(&entry, reason.as_deref()).await;
            revoked.map_err(Failure::trying(Attempt::on("lease revoke", &entry)))?;
            Ok(out.one(&json!({"revoked": entry.to_string()}), |_| format!("revoked {entry}"))?)
        }
    }
}

/// Nothing to claim is success without output.
pub(crate) async fn claim(args: ClaimArgs, board: &Board, out: Output) -> Outcome {
    let attempt = Attempt::in_zone("claim", &args.zone);
    let claim = Claim {
        zone: args.zone,
        status: args.status,
        prefix: args.prefix,
        ttl_ms: args.ttl_ms,
        to_status: args.to_status,
        wait_ms: args.wait_ms.unwrap_or(0),
    };
    match board.claim(&claim).await.map_err(Failure::trying(attempt))? {
        Some(granted) => Ok(out.one(&granted, |granted| {
            format!("{}\n  {:<10} {}", show::entry(&granted.entry), "lease", show::lease(&granted.lease))
        })?),
        None => {
            complain("nothing to claim there now; --wait-ms MS waits for something");
            Ok(())
        }
    }
}
