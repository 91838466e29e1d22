//! Puts the files of a deployment where they belong: all of them, or none.
//!
//! Invariant: nothing that is there is overwritten, not even what appears in the meantime; after a failure nothing that
//! was made here is left. Permissions are set whatever the umask, because others read the files: a secret only its
//! owner, the rest the server in its container too.
//! Not known here: what the files say.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::plan::{Planned, Sight};

/// The files of the plan, or parts of the way to them, that cannot be made because something is there.
pub(super) fn in_the_way(dir: &Path, files: &[Planned]) -> Vec<PathBuf> {
    let mut found: Vec<_> = files.iter().filter_map(|file| obstacle(dir, &dir.join(&file.path))).collect();
    found.dedup();
    found
}

fn obstacle(dir: &Path, path: &Path) -> Option<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return Some(path.to_path_buf());
    }
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(dir));
    folders.filter(|folder| folder.exists() && !folder.is_dir()).last().map(Path::to_path_buf)
}

/// Writes all files, each durably.
pub(super) fn place(dir: &Path, files: &[Planned]) -> anyhow::Result<()> {
    let mut made = Made::default();
    for file in files {
        let path = dir.join(&file.path);
        let wrote = made.folders_to(&path, file.sight).and_then(|()| made.file(&path, file));
        wrote.with_context(|| format!("{} cannot be written, and nothing was left behind", path.display()))?;
    }
    for folder in made.folders.iter().map(PathBuf::as_path).chain([dir]) {
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(|| folder.display().to_string())?;
    }
    made.keep();
    Ok(())
}

/// What was made so far; unmade with the value, in the other order, unless it is kept.
#[derive(Debug, Default)]
struct Made {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn folders_to(&mut self, path: &Path, sight: Sight) -> io::Result<()> {
        let absent = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let absent: Vec<_> = path.ancestors().skip(1).take_while(absent).map(Path::to_path_buf).collect();
        for (i, folder) in absent.into_iter().enumerate().rev() {
            fs::create_dir(&folder)?;
            self.folders.push(folder.clone());
            // Only the last one is for these files alone.
            let secret = sight == Sight::Owner && i == 0;
            fs::set_permissions(&folder, Permissions::from_mode(if secret { 0o700 } else { 0o755 }))?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, planned: &Planned) -> io::Result<()> {
        let mode = match planned.sight {
            Sight::Everyone => 0o644,
            Sight::Owner => 0o600,
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        self.files.push(path.to_path_buf());
        file.write_all(planned.text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()
    }

    fn keep(mut self) {
        self.folders.clear();
        self.files.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What cannot be removed stays; the failure that led here is what the user is told.
        for file in self.files.iter().rev() {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(path: &str, sight: Sight) -> Planned {
        Planned { path: path.to_owned(), text: format!("text of {path}"), sight }
    }

    #[test]
    fn files_are_readable_by_whom_they_are_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let base = dir.path().join("a/b");
        place(&base, &[planned("s/x.env", Sight::Owner), planned("c.toml", Sight::Everyone)]).expect("placed");
        let mode = |path: &str| base.join(path).metadata().expect("it is there").permissions().mode() & 0o777;
        assert_eq!([mode("s"), mode("s/x.env"), mode("c.toml"), mode("")], [0o700, 0o600, 0o644, 0o755]);
    }

    #[test]
    fn a_failure_half_way_leaves_nothing_of_its_own_and_everything_of_others() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("theirs"), "old").expect("written");
        let plan = [planned("s/x.env", Sight::Owner), planned("theirs", Sight::Everyone)];
        assert_eq!(in_the_way(dir.path(), &plan), [dir.path().join("theirs")]);
        let refused = place(dir.path(), &plan).expect_err("it is there");
        assert!(format!("{refused:#}").contains("theirs"), "{refused:#}");
        let left: Vec<_> = fs::read_dir(dir.path()).expect("listed").map(|e| e.expect("listed").file_name()).collect();
        assert_eq!(left, ["theirs"]);
        assert_eq!(fs::read_to_string(dir.path().join("theirs")).expect("read"), "old");
    }

    #[test]
    fn a_file_where_a_folder_belongs_and_a_link_to_nowhere_are_in_the_way() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("s"), "").expect("written");
        std::os::unix::fs::symlink("nowhere", dir.path().join("c.toml")).expect("linked");
        let plan =
            [planned("s/x.env", Sight::Owner), planned("s/y.env", Sight::Owner), planned("c.toml", Sight::Everyone)];
        assert_eq!(in_the_way(dir.path(), &plan), [dir.path().join("s"), dir.path().join("c.toml")]);
    }
}
