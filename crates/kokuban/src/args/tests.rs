//! What the command line takes and what it refuses.

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    command().try_get_matches_from(line.split(' ')).and_then(|matches| Cli::from_arg_matches(&matches))
}

#[test]
fn the_command_line_is_consistent() {
    command().debug_assert();
}

#[test]
fn client_options_may_stand_before_and_after_the_command() {
    for line in ["kokuban -b t1 -o json get z/k", "kokuban get z/k -b t1 -o json"] {
        let cli = parse(line).expect(line);
        assert_eq!((cli.client.board.as_deref(), cli.client.output), (Some("t1"), Some(Form::Json)));
    }
}

#[test]
fn every_command_can_be_given_with_all_client_options() {
    let options = "--url http://h:1 --token s --agent a --board b --output json --timeout-ms 5";
    for line in [
        "serve --listen 127.0.0.1:0 --data d --config f --durability memory --log-format json --insecure-open --set limits.boards_max=5 --set hosts=a,b --salvage",
        "dev",
        "init d --agents x,y --arbiter y --keep",
        "ready",
        "demo --data d --kill-server",
        "demo --tokens d",
        "demo-agent ra",
        "get z/k --version 1 --full --value",
        "get z/k --after-version 1 --until-status raw --wait-ms 5",
        "put z/k -1 --version 1 --status raw --lease-token 4 --reason why",
        "put z/k text --string --if-absent",
        "patch z/k --set a=1 --set b=2 --unset c --version 1",
        "move z/k raw --version 1",
        "delete z/k --version 1",
        "list z --prefix p --status s --owner o --values --at 3 --limit 5",
        "watch --zone z --key k --prefix p --status s --kind created --after start --snapshot --values --count 1",
        "watch --after 00000000000000ab.3 --coalesce-ms 5",
        "history z/k --by a --kind created --values --limit 5",
        "note add z/k text --version 1",
        "note list z/k",
        "note close z/k n1",
        "lease acquire z/k --ttl-ms 5 --wait-ms 5 --takeover",
        "lease renew z/k 4 --ttl-ms 5",
        "lease release z/k 4",
        "lease show z/k",
        "lease revoke z/k --reason why",
        "claim z --status raw --prefix p --to-status processing --ttl-ms 5 --wait-ms 5",
        "board create --blueprint default --title t",
        "board show x",
        "board export x",
        "board list",
        "board delete x",
        "blueprint graph default --lifecycle review --format dot",
        "export",
        "verify f",
        "backup f --replace",
        "backup",
        "restore f --data d --replace --salvage",
        "check-config f g --strict",
        "config show --config f --listen 127.0.0.1:0 --set limits.boards_max=5 --dev --toml",
        "token new ra --role admin --role observer --boards x --boards y",
        "completions zsh",
    ] {
        for whole in [format!("kokuban {line} {options}"), format!("kokuban {options} {line}")] {
            let cli = parse(&whole).unwrap_or_else(|refused| panic!("{whole}: {refused}"));
            let client = (cli.client.token.as_deref(), cli.client.agent.as_deref(), cli.client.board.as_deref());
            assert_eq!(client, (Some("s"), Some("a"), Some("b")), "{whole}");
        }
    }
}

#[test]
fn what_contradicts_itself_is_a_usage_error() {
    for line in [
        "kokuban put z/k 1 --if-absent --version 3",
        "kokuban get z/k --version 1 --at 2",
        "kokuban patch z/k",
        "kokuban watch --after 12",
        "kokuban watch --kind nonsense",
        "kokuban lease renew z/k",
        "kokuban serve --set limits.boards_max",
        "kokuban list a/b",
        "kokuban frobnicate",
    ] {
        let refused = parse(line).expect_err(line);
        assert_eq!(refused.exit_code(), 2, "{line}");
    }
}

#[test]
fn a_typing_error_gets_the_nearest_name() {
    for (line, nearest) in [
        ("kokuban wacth", "watch"),
        ("kokuban put z/k 1 --versoin 3", "--version"),
        ("kokuban watch --kind update", "updated"),
        ("kokuban board crate", "create"),
        ("kokuban get z/k -o jsno", "json"),
    ] {
        let refused = parse(line).expect_err(line).to_string();
        assert!(refused.contains("similar") && refused.contains(nearest), "{refused}");
    }
}
