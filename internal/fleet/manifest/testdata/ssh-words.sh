#!/bin/sh
# A fleet of takt: the gatherer on this machine, and 1 shard by ssh. The exit code is that of the run.
# The hosts must accept a login without a password, and have takt of the same version.
set -u
takt=${TAKT:-takt} # on this machine
token=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
shards='' gatherer='' failed='' caught=''

# shard HOST ADDRESS [FLAGS OF SSH]: a shard on a host, for a gatherer at this address.
shard() {
	host=$1 address=$2
	shift 2
	(
		trap 'kill "$ssh" 2>/dev/null; exit' TERM
		printf '%s\n' "$token" | ssh -T -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=5 -o ExitOnForwardFailure=yes "$@" "$host" \
			"exec takt shard --fleet $address --join-timeout 20s --fleet-token-file /dev/stdin" &
		ssh=$!
		wait "$ssh"
		code=$?
		[ "$code" = 0 ] || echo "the shard on $host ended with exit code $code" >&2
		case $code in
		0) ;;
		126 | 127 | 255) kill -USR1 $$ ;; # it did not start
		*) sleep 10 & ssh=$!; wait "$ssh"; kill -USR1 $$ ;;
		esac
	) &
	shards="$shards $!"
}

finish() {
	trap '' INT TERM HUP USR1
	[ "$1" = 0 ] || sleep 1 # for what the shards say
	# shellcheck disable=SC2086 # a list of numbers
	kill $shards 2>/dev/null
	wait
	exit "$1"
}
trap 'caught=1 failed=1; kill "$gatherer" 2>/dev/null' USR1
trap 'caught=1; kill "$gatherer" 2>/dev/null' TERM HUP
trap 'caught=1' INT

TAKT_FLEET_TOKEN=$token "$takt" fleet --started --shards 1 --listen 127.0.0.1:8400 --join-timeout 5m0s -- '' ' ' ''\''' '"' '\' '
' 'a
b: c' '	' '' '$(TAKT_FLEET_TOKEN)' '$$(X)' '$HOME' '$' '`id`' '$(id)' '{{ .Task.Slot }}' %d % true null 1e3 0x10 '~' '- x' '# x' 'a #b' 'a: b' '&a' '*a' '!a' '|' '>' @ --- ... '[1]' '{a}' 'é' '🙂' ' ' '﻿' '' '' '' EOF &
gatherer=$!

shard load1 127.0.0.1:8401 -R 127.0.0.1:8401:127.0.0.1:8400

# A signal ends wait, and not the gatherer.
caught=1
while [ -n "$caught" ]; do
	caught=''
	wait "$gatherer"
	code=$?
done
[ -z "$failed" ] || code=1
finish "$code"
