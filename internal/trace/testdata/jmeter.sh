#!/usr/bin/env bash
# Writes jmeter.jtl and jmeter.csv beside itself: what a real JMeter 5.6 writes of odd
# requests to a real nginx, as XML and as CSV. Then the goldens have to be written anew:
# go test ./internal/trace/reader -update. It takes java and mvn, which gets JMeter's jars.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
port=${PORT:-18935}
trap 'kill "$(cat "$work/pid" 2>/dev/null)" 2>/dev/null || true; rm -rf "$work"' EXIT

mkdir "$work/html"
chmod -R a+rX "$work"
echo 0123456789 >"$work/html/ten.txt"
echo '<html><body><img src="/dot.png"></body></html>' >"$work/html/page.html"
echo dot >"$work/html/dot.png"
cat >"$work/nginx.conf" <<CONF
worker_processes 1;
pid $work/pid;
error_log $work/error.log;
events {}
http {
  client_body_temp_path $work/b; proxy_temp_path $work/p; fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
  access_log off;
  types { text/html html; text/plain txt; }
  server {
    listen 127.0.0.1:$port;
    root $work/html;
    location = /old { return 302 /ten.txt; }
  }
}
CONF
nginx -p "$work" -c "$work/nginx.conf"

# The folders that JMeter expects around itself.
mkdir -p "$work/home/bin" "$work/home/lib/ext" "$work/home/lib/junit"
mvn -q -B -f jmeter/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/home/lib"
mv "$work"/home/lib/ApacheJMeter_*.jar "$work/home/lib/ext"
mv "$work"/home/lib/ApacheJMeter-*.jar "$work/home/bin/ApacheJMeter.jar"
unzip -q "$work"/home/lib/ext/ApacheJMeter_config-*.jar 'bin/*' -d "$work/home"

sed "s/@PORT@/$port/" jmeter/plan.jmx >"$work/plan.jmx"

# run FORMAT FILE
run() {
	rm -f "$2"
	java -Djava.util.prefs.userRoot="$work" -jar "$work/home/bin/ApacheJMeter.jar" -n -t "$work/plan.jmx" -l "$2" -j "$work/$1.log" \
		-Jjmeter.save.saveservice.output_format="$1" -Jjmeter.save.saveservice.url=true -Jjmeter.save.saveservice.samplerData=true >"$work/$1.out" 2>&1 || { cat "$work/$1.out"; exit 1; }
}
run xml jmeter.jtl
run csv jmeter.csv
nginx -p "$work" -c "$work/nginx.conf" -s quit
