# shellcheck shell=bash disable=SC2154 # part of scripts/servers, which sets run, here, debian and collector

# The receivers of metrics. start_ prints a URL or HOST:PORT, and the folder of the server. pid in the
# folder is the server's process: a test may kill or freeze it. What a receiver got:
# Prometheus, InfluxDB: by queries at the URL; carbon: FOLDER/whisper-fetch FOLDER/whisper/NAME.wsp;
# the collector: FOLDER/metrics.json, a line of OTLP as JSON for each request.

fetch_prometheus() { unpack prometheus usr/bin/prometheus; }
# start_prometheus: it accepts remote writes, and scrapes the port after its own each second.
start_prometheus() {
	fresh_run
	local port; port=$(free_port)
	cat >"$run/prometheus.yml" <<-EOF
		global:
		  scrape_interval: 1s
		  scrape_timeout: 1s
		scrape_configs:
		- job_name: takt
		  static_configs:
		  - targets: ["127.0.0.1:$((port + 1))"]
	EOF
	launch "$port" "$(unpacked usr/bin/prometheus)" --config.file="$run/prometheus.yml" --storage.tsdb.path="$run/data" \
		--web.listen-address="127.0.0.1:$port" --web.enable-remote-write-receiver --enable-feature=native-histograms --log.level=warn
	echo "http://127.0.0.1:$port $run"
}
stop_prometheus() { stop; }

fetch_carbon() {
	need python3 python3
	unpack graphite-carbon usr/bin/carbon-cache
}
start_carbon() {
	fresh_run
	mkdir -p "$run/whisper"
	local port packages
	port=$(free_port) packages=$(unpacked usr/lib/python3/dist-packages/carbon)
	packages=${packages%/carbon}
	cat >"$run/carbon.conf" <<-EOF
		[cache]
		STORAGE_DIR = $run
		LOCAL_DATA_DIR = $run/whisper
		CONF_DIR = $run
		LOG_DIR = $run
		PID_DIR = $run
		USER =
		MAX_UPDATES_PER_SECOND = inf
		MAX_CREATES_PER_MINUTE = inf
		LINE_RECEIVER_INTERFACE = 127.0.0.1
		LINE_RECEIVER_PORT = $port
		PICKLE_RECEIVER_INTERFACE = 127.0.0.1
		PICKLE_RECEIVER_PORT = $((port + 1))
		CACHE_QUERY_INTERFACE = 127.0.0.1
		CACHE_QUERY_PORT = $((port + 2))
		ENABLE_UDP_LISTENER = False
		ENABLE_TAGS = False
		WHISPER_AUTOFLUSH = True
	EOF
	printf '[all]\npattern = .*\nretentions = 1s:1h\n' >"$run/storage-schemas.conf"
	printf '#!/bin/sh\nPYTHONPATH="%s" exec /usr/bin/python3 "%s" "$@"\n' "$packages" "$(unpacked usr/bin/whisper-fetch)" >"$run/whisper-fetch"
	chmod +x "$run/whisper-fetch"
	launch "$port" env PYTHONPATH="$packages" /usr/bin/python3 "$(unpacked usr/bin/carbon-cache)" --config="$run/carbon.conf" --nodaemon start
	echo "127.0.0.1:$port $run"
}
stop_carbon() { stop; }

fetch_influxdb() { unpack influxdb usr/bin/influxd; }
# start_influxdb: anybody may create databases.
start_influxdb() {
	fresh_run
	local port; port=$(free_port)
	cat >"$run/influxdb.conf" <<-EOF
		reporting-disabled = true
		bind-address = "127.0.0.1:$((port + 1))"
		[meta]
		  dir = "$run/data/meta"
		[data]
		  dir = "$run/data/data"
		  wal-dir = "$run/data/wal"
		[http]
		  bind-address = "127.0.0.1:$port"
		[monitor]
		  store-enabled = false
	EOF
	launch "$port" "$(unpacked usr/bin/influxd)" run -config "$run/influxdb.conf"
	echo "http://127.0.0.1:$port $run"
}
stop_influxdb() { stop; }

# fetch_collector builds the collector of OpenTelemetry with one receiver, OTLP, and one exporter, to
# a file: two minutes of two cores the first time, then seconds.
fetch_collector() {
	command -v go >/dev/null || die "collector cannot be had: there is no go"
	[ ! -x "$collector" ] || return 0
	say "building a collector of OpenTelemetry; the first time this takes minutes"
	rm -f "$cache"/collector-*
	CGO_ENABLED=0 nice -n 15 go build -C "$here/collector" -o "$collector.half" -ldflags "-s -w" . >&2 ||
		die "collector cannot be built; is there a network?"
	mv "$collector.half" "$collector"
}
start_collector() {
	fresh_run
	local port; port=$(free_port)
	cat >"$run/collector.yaml" <<-EOF
		receivers:
		  otlp:
		    protocols:
		      http:
		        endpoint: 127.0.0.1:$port
		exporters:
		  file:
		    path: $run/metrics.json
		    flush_interval: 100ms
		service:
		  telemetry:
		    metrics:
		      level: none
		  pipelines:
		    metrics:
		      receivers: [otlp]
		      exporters: [file]
	EOF
	patience=600 launch "$port" "$collector" --config "$run/collector.yaml"
	echo "http://127.0.0.1:$port $run"
}
stop_collector() { stop; }
