# shellcheck shell=bash disable=SC2154 # part of scripts/servers, which sets run, here, debian, rabbitmq, activemq and qpid

# The brokers for takt jms besides Artemis. start_ prints the broker's name, host:port where it
# speaks AMQP 1.0, host:port where it speaks AMQP 1.0 over TLS, the certificate of the authority
# for it, and the URL of its management if it has one. User and password are takt. The user poor,
# password poor, may do nothing, or not much.

fetch_rabbitmq() {
	need "openssl curl" "openssl curl"
	unpack rabbitmq-server "usr/lib/rabbitmq/bin/rabbitmq-server usr/lib/erlang/bin/erl usr/bin/epmd"
}
start_rabbitmq() {
	fresh_run
	local port; port=$(free_port)
	echo "$port" >"$run/port"
	mkdir -p "$run/pki" "$run/data"
	certificates "$run/pki"
	echo "[rabbitmq_amqp1_0,rabbitmq_management]." >"$run/plugins"
	cat >"$run/definitions.json" <<-EOF
		{"vhosts":[{"name":"/"}],
		"users":[{"name":"takt","password":"takt","tags":"administrator"},{"name":"poor","password":"poor","tags":"management"}],
		"permissions":[{"user":"takt","vhost":"/","configure":".*","write":".*","read":".*"},
			{"user":"poor","vhost":"/","configure":"^\$","write":"^\$","read":"^\$"}]}
	EOF
	cat >"$run/rabbitmq.conf" <<-EOF
		listeners.tcp.1 = 127.0.0.1:$port
		listeners.ssl.1 = 127.0.0.1:$((port + 1))
		ssl_options.cacertfile = $run/pki/ca.pem
		ssl_options.certfile = $run/pki/server.pem
		ssl_options.keyfile = $run/pki/server.key
		management.tcp.ip = 127.0.0.1
		management.tcp.port = $((port + 2))
		load_definitions = $run/definitions.json
		disk_free_limit.absolute = 10MB
		collect_statistics_interval = 500
	EOF
	launch_rabbitmq
	echo "rabbitmq 127.0.0.1:$port 127.0.0.1:$((port + 1)) $run/pki/ca.pem http://127.0.0.1:$((port + 2))"
}

# launch_rabbitmq runs the broker's Erlang without Debian's scripts, which become another user.
# Each broker has an epmd of its own, at a port of its own.
launch_rabbitmq() {
	local port erlang home
	port=$(cat "$run/port") erlang=$(unpacked usr/lib/erlang)
	home=$(ls -d "$(unpacked usr/lib/rabbitmq)"/lib/rabbitmq_server-*)
	export HOME=$run ROOTDIR=$erlang BINDIR EMU=beam PROGNAME=erl LD_LIBRARY_PATH
	BINDIR=$(ls -d "$erlang"/erts-*/bin) LD_LIBRARY_PATH=$(libraries)
	export ERL_EPMD_PORT=$((port + 3)) ERL_EPMD_ADDRESS=127.0.0.1
	export RABBITMQ_NODENAME=takt$port@localhost RABBITMQ_CONFIG_FILE=$run/rabbitmq.conf RABBITMQ_MNESIA_BASE=$run/data \
		RABBITMQ_LOG_BASE=$run RABBITMQ_ENABLED_PLUGINS_FILE=$run/plugins RABBITMQ_PLUGINS_DIR=$home/plugins \
		RABBITMQ_PID_FILE=$run/erlang.pid RABBITMQ_HOME=$home RABBITMQ_CONF_ENV_FILE=$run/none RABBITMQ_DIST_PORT=$((port + 4)) ERL_LIBS=$home/plugins
	(
		setsid bash -c 'exec -a "$1/epmd" "$2/epmd" -port "$3"' epmd "$run" "$BINDIR" "$ERL_EPMD_PORT" >"$run/epmd.out" 2>&1 </dev/null &
		echo $! >"$run/epmd.pid"
	)
	for _ in $(seq 100); do if answers "$ERL_EPMD_PORT"; then break; fi; sleep 0.05; done
	patience=1200 launch "$port" "$BINDIR/erlexec" -noinput -start_epmd false -s rabbit boot -boot "$erlang/bin/start_sasl" \
		-kernel inet_dist_use_interface "{127,0,0,1}" -syslog logger "[]" -syslog syslog_error_logger false \
		-kernel prevent_overlapping_partitions false -takt "$run"
	curl -sf -o /dev/null --retry 100 --retry-all-errors --retry-delay 1 --retry-max-time 60 --max-time 5 -u takt:takt "http://127.0.0.1:$((port + 2))/api/overview" ||
		{ stop_rabbitmq; die "the management of rabbitmq does not answer"; }
}
stop_rabbitmq() {
	patience=600 stop
	stop "$run/epmd.pid"
	remove_data
}
kill_rabbitmq() {
	if running "$run/epmd.pid"; then kill "$(cat "$run/epmd.pid")"; fi
	while running "$run/epmd.pid"; do sleep 0.05; done
}

fetch_activemq() {
	need "java mvn openssl" "openjdk-17-jdk-headless maven openssl"
	[ -d "$activemq" ] || mvn -q -B -f "$here/servers.d/activemq.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$activemq" >&2 ||
		{ rm -rf "$activemq"; die "Maven cannot get ActiveMQ Classic; is there a network?"; }
}
start_activemq() {
	fresh_run
	local port; port=$(free_port)
	echo "$port" >"$run/port"
	mkdir -p "$run/pki"
	certificates "$run/pki"
	keystore
	launch_activemq
	echo "activemq 127.0.0.1:$port 127.0.0.1:$((port + 1)) $run/pki/ca.pem"
}
launch_activemq() {
	patience=1200 launch "$(cat "$run/port")" java -Xmx384m -XX:+UseSerialGC -cp "$activemq/*" "$here/servers.d/ActiveMQ.java" "$run" "$(cat "$run/port")"
}
stop_activemq() {
	patience=600 stop
	remove_data
}

fetch_qpid() {
	need "java mvn openssl curl" "openjdk-17-jdk-headless maven openssl curl"
	local tar=$cache/apache-qpid-broker-j-9.2.1-bin.tar.gz
	[ -f "$tar" ] || mvn -q -B dependency:copy -Dartifact=org.apache.qpid:apache-qpid-broker-j:9.2.1:tar.gz:bin -DoutputDirectory="$cache" >&2 ||
		die "Maven cannot get Qpid Broker-J 9.2.1; is there a network?"
	echo "bfbfbcffc6a8ad904f97edc6dcebc688f232b582843b9cb1f240decb8b8a181a  $tar" | sha256sum --check --status ||
		die "$tar is not the file that was pinned; delete it and fetch again"
	[ -d "$qpid" ] && return
	rm -rf "$cache/half"
	mkdir -p "$cache/half"
	tar -xzf "$tar" -C "$cache/half"
	mv "$cache"/half/*/* "$qpid"
	rm -rf "$cache/half"
}
start_qpid() {
	fresh_run
	local port; port=$(free_port)
	echo "$port" >"$run/port"
	mkdir -p "$run/pki"
	certificates "$run/pki"
	keystore
	sed "s#@RUN@#$run#g; s#@PORT@#$port#; s#@TLS@#$((port + 1))#; s#@HTTP@#$((port + 2))#" "$here/servers.d/qpid.json" >"$run/qpid.json"
	launch_qpid
	echo "qpid 127.0.0.1:$port 127.0.0.1:$((port + 1)) $run/pki/ca.pem http://127.0.0.1:$((port + 2))"
}
launch_qpid() {
	local port; port=$(cat "$run/port")
	QPID_WORK="$run/data" patience=1200 launch "$port" java -Xmx384m -XX:MaxDirectMemorySize=256m -XX:+UseSerialGC -Dqpid.work_dir="$run/data" -Dderby.stream.error.file="$run/derby.log" \
		-cp "$qpid/lib/*" org.apache.qpid.server.Main -icp "$run/qpid.json"
	# The ports answer before the virtual host does.
	for _ in $(seq 600); do
		! curl -sf --max-time 5 -u takt:takt "http://127.0.0.1:$((port + 2))/api/latest/virtualhost" 2>/dev/null | grep -q '"state" : "ACTIVE"' || return 0
		sleep 0.1
	done
	stop_qpid
	die "qpid does not serve"
}
stop_qpid() {
	patience=600 stop
	remove_data
}

# keystore makes keys for Java of $run/pki.
keystore() {
	openssl pkcs12 -export -in "$run/pki/server.pem" -inkey "$run/pki/server.key" -passout pass:takttakt -out "$run/tls.p12" 2>>"$run/openssl.log" ||
		die "openssl cannot make a keystore"
}

# again NAME: kills a broker and starts it again with its ports and data.
again() {
	[ -f "$run/port" ] || die "$name was not started; start it with: scripts/servers start $name"
	if running; then kill -9 "$(cat "$run/pid")"; fi
	while running || answers "$(cat "$run/port")"; do sleep 0.05; done
	"launch_$name"
}
restart_rabbitmq() { kill_rabbitmq; again; }
restart_activemq() { again; }
restart_qpid() { again; }
