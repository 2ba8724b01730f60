#!/usr/bin/env bash
# Writes caddy-real.log beside itself: what a real Caddy 2 logs of odd requests, among
# what else it logs. Then the golden has to be written anew: go test ./internal/trace/reader
# -update. Debian: apt-get download caddy; CADDY is its program.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
port=${PORT:-18934}
caddy=
trap '[ -z "$caddy" ] || kill "$caddy" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/html"
echo 0123456789 >"$work/html/ten.txt"
cat >"$work/Caddyfile" <<CONF
{
	admin off
	auto_https off
	log {
		output file $PWD/caddy-real.log
	}
}
http://127.0.0.1:$port, http://[::1]:$port, http://:$port {
	log
	root * $work/html
	file_server
}
CONF
rm -f caddy-real.log
HOME=$work XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work "${CADDY:-caddy}" run --config "$work/Caddyfile" --adapter caddyfile 2>"$work/out" &
caddy=$!
for _ in $(seq 100); do
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
	sleep 0.05
done
source ./odd-requests.sh
kill "$caddy"
wait "$caddy" || true
caddy=
