#!/usr/bin/env bash
# Writes apache-*.log beside itself: what a real Apache 2.4 logs of odd requests, in the
# formats that Debian's apache2.conf defines and in one with everything that a replay
# can use. Then the goldens have to be written anew: go test ./internal/trace/reader -update
# Debian: apt-get install --no-install-recommends apache2-bin
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
port=${PORT:-18932}
trap 'kill "$(cat "$work/pid" 2>/dev/null)" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/html"
chmod -R a+rX "$work"
echo 0123456789 >"$work/html/ten.txt"
modules=${MODULES:-/usr/lib/apache2/modules}
cat >"$work/apache.conf" <<CONF
ServerRoot $work
ServerName www.example.org
PidFile $work/pid
ErrorLog $work/error.log
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule reqtimeout_module $modules/mod_reqtimeout.so
Listen 127.0.0.1:$port
Listen [::1]:$port
$([ "$(id -u)" != 0 ] || printf 'User nobody\nGroup nogroup')
DocumentRoot $work/html
RequestReadTimeout header=1
StartServers 1
LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined
LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined
LogFormat "%h %l %u %t \"%r\" %>s %O" common
LogFormat "%{%Y-%m-%dT%T}t.%{usec_frac}t%{%z}t %D %a %m %U%q %>s %B %I %V \"%{User-Agent}i\"" full
CustomLog $PWD/apache-vhost.log vhost_combined
CustomLog $PWD/apache-real.log combined
CustomLog $PWD/apache-common.log common
CustomLog $PWD/apache-full.log full
CONF
rm -f apache-vhost.log apache-real.log apache-common.log apache-full.log
apache2 -f "$work/apache.conf" -k start
for _ in $(seq 100); do
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
	sleep 0.05
done
source ./odd-requests.sh
request "GET /late HTTP/1.1\r\n" # and no more: 408
apache2 -f "$work/apache.conf" -k stop
while [ -e "$work/pid" ]; do sleep 0.05; done
