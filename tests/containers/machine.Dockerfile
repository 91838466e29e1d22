# A newcomer's machine: Debian with Rust, a C compiler and curl, nothing else; and because it may have no network, the
# sources of what we depend on, in the place of the registry. The images of the deployment are built with it too.
ARG BASE
FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends gcc libc6-dev curl \
 && rm -rf /var/lib/apt/lists/*
COPY rust /usr/local
COPY cargo /usr/local/cargo
ENV CARGO_HOME=/usr/local/cargo
