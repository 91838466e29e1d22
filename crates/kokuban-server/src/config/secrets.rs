//! `KOKUBAN_TOKENS=ra:secret,rv:secret`: tokens for a first trial or a container.
//!
//! **Invariant**: a secret is hashed here and neither kept nor shown, not even when its entry is wrong.
//! Not known here: tokens of the file, which are hashes already.

use kokuban_core::ids::{AgentName, Sha256};

use super::Token;
use super::sources::TOKENS_VARIABLE as VARIABLE;
use crate::pattern::Pattern;

/// Every request is compared with every token.
pub(super) const TOKENS_MAX: usize = 1000;
/// Shorter secrets can be guessed.
const SECRET_BYTES_ADVISED: usize = 16;

/// The tokens, and what should be known about them.
pub(super) fn read(text: &str) -> Result<(Vec<Token>, Vec<String>), String> {
    let mut tokens = Vec::new();
    let mut warnings = Vec::new();
    for (place, pair) in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).enumerate() {
        let number = place + 1;
        let (agent, secret) = pair.split_once(':').ok_or_else(|| format!("entry {number} is not `agent:secret`"))?;
        let agent =
            AgentName::new(agent).map_err(|_| format!("entry {number} does not begin with the name of an agent"))?;
        if secret.is_empty() || secret.contains(char::is_whitespace) {
            return Err(format!("the secret of `{agent}` is empty or has white space"));
        }
        if secret.len() < SECRET_BYTES_ADVISED {
            warnings.push(format!(
                "the secret of `{agent}` in {VARIABLE} is shorter than {SECRET_BYTES_ADVISED} bytes and can be guessed; `kokuban token new` makes better ones"
            ));
        }
        let sha256 = Sha256::of(secret.as_bytes());
        tokens.push(Token { sha256, agent, roles: Vec::new(), boards: vec![Pattern::any()] });
        if tokens.len() > TOKENS_MAX {
            return Err(format!("at most {TOKENS_MAX} tokens can be configured"));
        }
    }
    Ok((tokens, warnings))
}
