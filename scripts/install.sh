#!/bin/sh
# Installs takt on Linux, macOS or FreeBSD: the program, its man pages and completions.
#   curl -fsSL https://raw.githubusercontent.com/taktload/takt/main/scripts/install.sh | sh
# TAKT_VERSION   a version, such as 1.2.3; otherwise the newest release
# PREFIX         where to; otherwise /usr/local for root, and ~/.local
# TAKT_FROM      address of a folder with the files of a release, such as a mirror; then give TAKT_VERSION
# The checksum of the archive must be that in the release. It tells a damaged file from a whole one; who can
# change the archive there can change the checksum, too.
set -eu

fail() { echo "install: $*" >&2; exit 1; }

# get ADDRESS: prints a file.
get() {
	if command -v curl >/dev/null; then curl -fsSL "$1"
	elif command -v wget >/dev/null; then wget -qO- "$1"
	else fail "neither curl nor wget is here; install one of them"; fi
}

newest() {
	get https://api.github.com/repos/taktload/takt/releases/latest | sed -n 's/^ *"tag_name": *"v\([^"]*\)".*/\1/p'
}

sum() {
	if command -v sha256sum >/dev/null; then sha256sum "$1"
	elif command -v shasum >/dev/null; then shasum -a 256 "$1"
	else sha256 -r "$1"; fi | cut -d' ' -f1
}

main() {
	case $(uname -s) in Linux) os=linux ;; Darwin) os=darwin ;; FreeBSD) os=freebsd ;; *) fail "there is no archive for $(uname -s); build takt with Go: go install github.com/taktload/takt/cmd/takt@latest" ;; esac
	case $(uname -m) in x86_64 | amd64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) fail "there is no archive for $(uname -m); build takt with Go: go install github.com/taktload/takt/cmd/takt@latest" ;; esac
	version=${TAKT_VERSION:-}
	[ -n "$version" ] || [ -z "${TAKT_FROM:-}" ] || fail "TAKT_FROM is set without TAKT_VERSION; give the version whose files are there"
	[ -n "$version" ] || version=$(newest) || version=
	[ -n "$version" ] || fail "there is no release yet, or GitHub cannot be reached; give TAKT_VERSION, or build takt with Go"
	version=${version#v}
	from=${TAKT_FROM:-https://github.com/taktload/takt/releases/download/v$version}
	if [ -z "${PREFIX:-}" ]; then
		PREFIX=$HOME/.local
		[ "$(id -u)" != 0 ] || PREFIX=/usr/local
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	archive=takt_${version}_${os}_$arch.tar.gz
	get "$from/$archive" >"$work/$archive" || fail "$from/$archive cannot be read; check the version"
	get "$from/takt_${version}_checksums.txt" >"$work/sums" || fail "the release has no list of checksums, so nothing is installed"
	want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/sums")
	[ -n "$want" ] || fail "the list of checksums does not have $archive, so nothing is installed"
	[ "$want" = "$(sum "$work/$archive")" ] || fail "the checksum of $archive is wrong, so nothing is installed; download it again"
	mkdir "$work/takt"
	tar xzf "$work/$archive" -C "$work/takt"
	put 755 takt bin/takt
	for page in "$work"/takt/man/*.1; do put 644 "man/${page##*/}" "share/man/man1/${page##*/}"; done
	put 644 completions/takt.bash share/bash-completion/completions/takt
	put 644 completions/_takt share/zsh/site-functions/_takt
	put 644 completions/takt.fish share/fish/vendor_completions.d/takt.fish
	echo "installed $("$PREFIX/bin/takt" version | head -n 1) in $PREFIX"
	case :$PATH: in *:"$PREFIX/bin":*) ;; *) echo "$PREFIX/bin is not in PATH: export PATH=\"$PREFIX/bin:\$PATH\"" ;; esac
}

# put MODE FILE PLACE: a file of the archive gets to its place under its final name at once, also over a
# takt that runs.
put() {
	to=$PREFIX/$3
	mkdir -p "${to%/*}" && cp "$work/takt/$2" "$to.new" && chmod "$1" "$to.new" && mv "$to.new" "$to" || fail "$to cannot be written; choose another folder with PREFIX"
}

main
