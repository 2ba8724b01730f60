# shellcheck shell=bash disable=SC2154 # part of scripts/servers, which sets run, here, kafka and debian

# Kafka 4.0 whose SASL listener wants tickets, and the KDC of MIT Kerberos that issues them. Both are
# ordinary processes on loopback. The KDC has the port after those of Kafka.
fetch_kerberos() {
	fetch_kafka
	unpack "krb5-kdc krb5-admin-server" "usr/sbin/krb5kdc usr/sbin/kdb5_util usr/sbin/kadmin.local"
}

# start_kerberos prints what start_kafka prints. In the folder are krb5.conf, and load.keytab of the
# principal load, whose password is secret.
start_kerberos() {
	prepare_kafka
	local kdc; kdc=$(($(cat "$run/port") + 4))
	cat >"$run/krb5.conf" <<-EOF
		[libdefaults]
		default_realm = TAKT.TEST
		dns_lookup_kdc = false
		dns_lookup_realm = false
		rdns = false
		udp_preference_limit = 1
		[realms]
		TAKT.TEST = {
			kdc = 127.0.0.1:$kdc
		}
	EOF
	cat >"$run/kdc.conf" <<-EOF
		[kdcdefaults]
		kdc_listen = 127.0.0.1:$kdc
		kdc_tcp_listen = 127.0.0.1:$kdc
		[realms]
		TAKT.TEST = {
			database_module = files
			key_stash_file = $run/stash
			max_life = 10h
		}
		[dbmodules]
		db_module_dir = $(dirname "$(unpacked_plugin)")
		files = {
			db_library = db2
			database_name = $run/principal
		}
		[logging]
		kdc = FILE:$run/kdc.log
	EOF
	printf '%s\n' listener.name.sasl.sasl.enabled.mechanisms=GSSAPI listener.name.sasl.sasl.kerberos.service.name=kafka \
		"listener.name.sasl.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=\"$run/kafka.keytab\" principal=\"kafka/127.0.0.1@TAKT.TEST\";" \
		"super.users=User:ANONYMOUS;User:load" >>"$run/server.properties"
	export KRB5_CONFIG=$run/krb5.conf KRB5_KDC_PROFILE=$run/kdc.conf LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$(libraries)
	{
		"$(unpacked usr/sbin/kdb5_util)" create -r TAKT.TEST -s -P "$RANDOM$RANDOM" &&
			admin "addprinc -pw secret load" && admin "addprinc -randkey kafka/127.0.0.1" &&
			admin "ktadd -k $run/kafka.keytab kafka/127.0.0.1" && admin "ktadd -norandkey -k $run/load.keytab load"
	} >"$run/kdb.log" 2>&1 && [ -s "$run/load.keytab" ] || { cat "$run/kdb.log" >&2; die "$name cannot make its principals"; }
	launch "$kdc" "$(unpacked usr/sbin/krb5kdc)" -n -r TAKT.TEST -P "$run/krb5kdc.pid"
	mv "$run/pid" "$run/kdc.pid"
	java -cp "$kafka/*" kafka.tools.StorageTool format -t takttakttakttakttaktQ -c "$run/server.properties" >"$run/format.log" 2>&1 ||
		{ stop_kerberos; cat "$run/format.log" >&2; die "$name cannot make its files"; }
	JAVA_TOOL_OPTIONS=-Djava.security.krb5.conf=$run/krb5.conf launch_kafka
}
admin() { "$(unpacked usr/sbin/kadmin.local)" -r TAKT.TEST -q "$1"; }
# unpacked_plugin: the module that keeps principals in files.
unpacked_plugin() {
	local file
	for file in /usr/lib/*/krb5/plugins/kdb/db2.so "$debian"/usr/lib/*/krb5/plugins/kdb/db2.so; do
		[ ! -e "$file" ] || { echo "$file"; return; }
	done
}
stop_kerberos() {
	stop_kafka
	stop "$run/kdc.pid"
}
