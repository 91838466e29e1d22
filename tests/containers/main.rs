//! Tests over containers: the image, the compose file, a fresh machine. They need Docker with compose, Debian's
//! debootstrap and root, so they are run by their own command; where something
//! is missing they fail and say what.
//!
//! **Invariant**: what is built and started is the Dockerfile and the compose file of this checkout. Containers,
//! networks and volumes of a test end with it; images stay, so that the next run is quick.
//! Not known here: the public images. Ours are made from Debian's packages, unless KOKUBAN_BASE and KOKUBAN_BUILDER
//! name others.

mod deployment;
mod docker;
mod document;
mod fresh;
mod images;
mod init;
mod outside;
