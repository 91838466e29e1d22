//! The images: a Debian of Debian's packages, a machine with Rust on it, and with both what the Dockerfile builds.
//!
//! **Invariant**: none has the name of a public image. The first two depend on nothing in this checkout but Cargo.lock
//! and are made once; the others are built anew, and what they replace is removed.
//! Not known here: what is tested with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use kokuban_core::ids::Sha256;

use super::docker::{Project, docker, image_exists, must};

/// The release of Debian that the Dockerfile names.
const RELEASE: &str = "bookworm";
const BASE: &str = "kokuban-test/base:bookworm";

/// The root of this checkout.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("tests is a folder of the workspace").to_owned()
}

/// What was built of this checkout.
#[derive(Debug)]
pub(crate) struct Built {
    /// The image of the server.
    pub(crate) server: String,
    /// The stage that compiled it, with the sources and what came of them.
    pub(crate) stage: String,
    base: String,
    builder: String,
}

impl Built {
    /// Variables of the compose file that name these images, and a free port.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("KOKUBAN_BASE", self.base.clone()),
            ("KOKUBAN_BUILDER", self.builder.clone()),
            ("KOKUBAN_IMAGE", self.server.clone()),
            ("KOKUBAN_PORT", "0".to_owned()),
        ]
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }
}

/// Builds the image of this checkout as the compose file says, once.
pub(crate) fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let base = std::env::var("KOKUBAN_BASE").unwrap_or_else(|_| base());
        let builder = std::env::var("KOKUBAN_BUILDER").unwrap_or_else(|_| machine(&base));
        let checkout = digest(&[root().to_string_lossy().as_bytes()]);
        let server = format!("kokuban-test/server:{checkout}");
        let stage = format!("kokuban-test/stage:{checkout}");
        let built = Built { server, stage, base, builder };
        let before = [&built.server, &built.stage].map(|tag| docker(&["image", "ls", "--quiet", "--no-trunc", tag]));
        build_stage(&built);
        Project::new(&root().join("docker/compose.yaml"), built.variables()).run(&["build", "kokuban"]);
        let after = [&built.server, &built.stage].map(|tag| docker(&["image", "ls", "--quiet", "--no-trunc", tag]));
        for (old, _) in before.iter().zip(&after).filter(|(old, new)| !old.is_empty() && old != new) {
            // Somebody may use it still; then it stays.
            let _ = Command::new("docker").args(["image", "rm", old]).output();
        }
        built
    })
}

fn build_stage(built: &Built) {
    let mut command = Command::new("docker");
    command.args(["build", "--file", "docker/Dockerfile", "--target", "build", "--tag", &built.stage]);
    command.args(["--build-arg", &format!("BASE={}", built.base)]);
    command.args(["--build-arg", &format!("BUILDER={}", built.builder)]);
    must(command.arg(".").current_dir(root()));
}

/// A Debian as small as the public slim image, from the archive that this machine gets its packages from.
fn base() -> String {
    if image_exists(BASE) {
        return BASE.to_owned();
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tree = dir.path().join("debian");
    assert!(
        Command::new("debootstrap").arg("--version").output().is_ok(),
        "without the public images these tests make a Debian by `debootstrap`, which is not here: install it, or name \
         images by KOKUBAN_BASE and KOKUBAN_BUILDER"
    );
    let mut debootstrap = Command::new("debootstrap");
    must(debootstrap.args(["--variant=minbase", RELEASE]).arg(&tree).arg(archive()));
    let mut tar = Command::new("tar");
    tar.arg("--directory").arg(&tree).args(["--exclude=./var/cache/apt/archives/*.deb", "--create", "."]);
    let mut tar = tar.stdout(Stdio::piped()).spawn().expect("tar starts");
    let files = tar.stdout.take().expect("piped");
    must(Command::new("docker").args(["import", "-", BASE]).stdin(files));
    assert!(tar.wait().expect("tar ends").success(), "tar failed");
    BASE.to_owned()
}

/// Where this machine gets Debian from.
fn archive() -> String {
    let format = "$(ORIGIN) $(COMPONENT) $(SUITE) $(REPO_URI)";
    let targets = must(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]));
    let main = |line: &str| {
        let mut words = line.split(' ');
        let found = (words.next(), words.next(), words.next(), words.next());
        let (Some("Debian"), Some("main"), Some(suite), Some(archive)) = found else { return None };
        // Updates and security fixes are in archives that hold nothing else.
        (!suite.contains('-')).then(|| archive.to_owned())
    };
    let found = targets.lines().find_map(main);
    found.expect("apt on this machine knows an archive of Debian; name images by KOKUBAN_BASE and KOKUBAN_BUILDER else")
}

/// A machine with this machine's Rust, by name of what is on it.
fn machine(base: &str) -> String {
    let rust = must(Command::new("rustc").arg("-vV").current_dir(root()));
    let lock = fs::read(root().join("Cargo.lock")).expect("the checkout has a Cargo.lock");
    let dockerfile = include_bytes!("machine.Dockerfile");
    let tag = format!("kokuban-test/machine:{}", digest(&[base.as_bytes(), rust.as_bytes(), &lock, dockerfile]));
    if image_exists(&tag) {
        return tag;
    }
    let context = tempfile::tempdir().expect("a temporary directory");
    copy_rust(&context.path().join("rust"));
    vendor(&context.path().join("cargo"));
    fs::write(context.path().join("Dockerfile"), dockerfile).expect("written");
    // Packages come over the network of this machine, whatever networks of containers reach.
    let mut build = Command::new("docker");
    build.args(["build", "--network", "host", "--tag", &tag, "--build-arg", &format!("BASE={base}"), "."]);
    must(build.current_dir(context.path()));
    tag
}

fn copy_rust(to: &Path) {
    let sysroot = must(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()));
    fs::create_dir(to).expect("made");
    for part in ["bin", "lib", "libexec"] {
        let part = Path::new(&sysroot).join(part);
        if part.exists() {
            must(Command::new("cp").arg("--archive").arg(part).arg(to));
        }
    }
}

/// What we depend on, as cargo takes it without a registry.
fn vendor(to: &Path) {
    fs::create_dir(to).expect("made");
    let mut vendor = Command::new("cargo");
    must(vendor.args(["vendor", "--locked", "--versioned-dirs"]).arg(to.join("vendor")).current_dir(root()));
    let config =
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"/usr/local/cargo/vendor\"\n";
    fs::write(to.join("config.toml"), config).expect("written");
}

fn digest(parts: &[&[u8]]) -> String {
    Sha256::of(&parts.join(&0)).to_string()[..12].to_owned()
}
