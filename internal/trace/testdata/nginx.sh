#!/usr/bin/env bash
# Writes nginx*.log beside itself: what a real nginx logs of odd requests, in its
# predefined format and in others. Stamps differ from run to run, so the goldens
# have to be written anew after it: go test ./internal/trace/reader -update
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
port=${PORT:-18931}
trap 'kill "$(cat "$work/pid" 2>/dev/null)" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/html"
chmod -R a+rX "$work"
echo 0123456789 >"$work/html/ten.txt"
cat >"$work/nginx.conf" <<CONF
worker_processes 1;
pid $work/pid;
error_log $work/error.log;
events {}
http {
  client_body_temp_path $work/b; proxy_temp_path $work/p; fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
  log_format timed '\$remote_addr - \$remote_user [\$time_local] "\$request" \$status \$body_bytes_sent "\$http_referer" "\$http_user_agent" \$request_time';
  log_format parts '\$msec \$request_time \$request_method \$scheme://\$host\$request_uri \$status \$bytes_sent \$request_length';
  log_format json escape=json '{"time_iso8601":"\$time_iso8601","remote_addr":"\$remote_addr","request":"\$request","status":\$status,"body_bytes_sent":\$body_bytes_sent,"request_time":\$request_time,"http_host":"\$http_host","http_user_agent":"\$http_user_agent"}';
  server {
    listen 127.0.0.1:$port;
    listen [::1]:$port;
    root $work/html;
    access_log $PWD/nginx-combined.log combined;
    access_log $PWD/nginx-timed.log timed;
    access_log $PWD/nginx-parts.log parts;
    access_log $PWD/nginx-json.log json;
    location = /slow { limit_rate 40; alias $work/html/ten.txt; }
  }
}
CONF
rm -f nginx-*.log
nginx -p "$work" -c "$work/nginx.conf"

source ./odd-requests.sh
nginx -p "$work" -c "$work/nginx.conf" -s quit
sleep 1
