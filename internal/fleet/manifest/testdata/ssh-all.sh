#!/bin/sh
# A fleet of takt: the gatherer on this machine, and 40 shards by ssh. The exit code is that of the run.
# The hosts must accept a login without a password, and have takt of the same version.
#
# The command reads these files. They must be here and in the home folder of each host, with the same names:
#   order.json
#   'it'\''s.txt'
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
			"exec ~/bin/takt shard --fleet $address --join-timeout 20s --fleet-token-file /dev/stdin" &
		ssh=$!
		wait "$ssh"
		code=$?
		[ "$code" = 0 ] || echo "the shard on $host ended with exit code $code" >&2
		case $code in
		0) ;;
		126 | 127) kill -USR1 $$ ;; # it did not start
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

TAKT_FLEET_TOKEN=$token "$takt" fleet --started --shards 40 --listen :9000 --join-timeout 1m0s --allow-lost 10% -- http -o json=- --body-file order.json --rate 400/s -z 10s http://shop/ &
gatherer=$!

shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000
shard load1 ci.example.com:9000

# A signal ends wait, and not the gatherer.
caught=1
while [ -n "$caught" ]; do
	caught=''
	wait "$gatherer"
	code=$?
done
[ -z "$failed" ] || code=1
finish "$code"
