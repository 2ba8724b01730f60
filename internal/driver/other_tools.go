package driver

// OtherToolsFlag is a flag of another load generator that takt lacks, or that means something else in takt.
type OtherToolsFlag struct {
	Names  []string // without dashes
	Value  bool     // the flag has a value
	Advice string   // whose flag it is, and what to write
}

// otherToolsHTTP are flags that users of k6, wrk, wrk2, vegeta, oha, ab, fortio and curl try first,
// and that no flag of takt http has a similar name to. docs/coming-from.md has the whole tables.
func otherToolsHTTP() []OtherToolsFlag {
	return []OtherToolsFlag{
		{[]string{"vus", "u"}, true, "k6's virtual users are connections: write -c N, or better a rate with -q N; a URL is the last argument, without a flag"},
		{[]string{"iterations", "i"}, true, "k6's iterations are requests: write -n N"},
		{[]string{"qps", "rps"}, true, "the rate is -q N"},
		{[]string{"R"}, true, "wrk2's rate is --rate N/s, of all connections together"},
		{[]string{"q"}, true, "in takt -q is the rate of the whole run; hey's -q is the rate of each worker, so multiply it by -c"},
		{[]string{"concurrency", "workers", "vus-max"}, true, "the number of connections is -c N"},
		{[]string{"max-workers", "max-connections"}, true, "the bound of the connections is --max-in-flight N"},
		{[]string{"threads"}, true, "takt chooses its threads; leave the flag out, or write --loops N"},
		{[]string{"latency", "latency-correction"}, false, "takt always shows latencies, measured from the instant when a request was due; leave the flag out"},
		{[]string{"request", "X"}, true, "the method is -m METHOD"},
		{[]string{"data", "payload"}, true, "the body is -d BODY, or -D FILE, with the method -m POST"},
		{[]string{"payload-file", "p", "P"}, true, "a body from a file is -D FILE, with the method -m POST; a proxy is -x HOST:PORT"},
		{[]string{"k"}, false, "takt keeps connections alive, as ab -k does, so leave the flag out; curl's -k is --insecure"},
		{[]string{"max-concurrent-streams"}, true, "the requests at once on each connection of HTTP/2 are --h2-streams M, with --h2"},
		{[]string{"clients"}, true, "connections are -c N; of HTTP/2 they are --h2-connections N, with --h2"},
		{[]string{"h1", "http1"}, false, "HTTP/1.1 is the default; HTTP/2 is --h2"},
		{[]string{"ciphers"}, true, "cipher suites are --tls-ciphers LIST"},
		{[]string{"http2-prior-knowledge", "http2-connections", "h2-conns"}, false, "HTTP/2 is --h2, without TLS with prior knowledge; its connections are --h2-connections N"},
		{[]string{"http1.1", "http1.0"}, false, "HTTP/1.1 is the default; HTTP/2 is --h2"},
		{[]string{"http3", "http3-only"}, false, "takt has no HTTP/3"},
		{[]string{"http-version"}, true, "HTTP/1.1 is the default; HTTP/2 is --h2"},
		{[]string{"npn-list", "alpn-list", "no-tls-proto"}, true, "takt offers HTTP/1.1, and with --h2 HTTP/2"},
		{[]string{"header-table-size", "encoder-header-table-size"}, true, "takt's tables of HTTP/2 have 4096 bytes; leave the flag out"},
		{[]string{"tlsv1.2", "tlsv1.3"}, false, "versions of TLS are --tls-min and --tls-max, such as --tls-min 1.3"},
		{[]string{"tls13-ciphers"}, true, "Go chooses the suites of TLS 1.3; leave the flag out"},
		{[]string{"insecure-skip-tls-verify"}, false, "not to verify the certificate is --insecure"},
		{[]string{"resolve"}, true, "another address is --connect-to HOST1:PORT1:HOST2:PORT2"},
		{[]string{"http2"}, false, "HTTP/2 is --h2"},
		{[]string{"root-certs"}, true, "the authority of the server's certificate is --cacert FILE"},
		{[]string{"stage"}, true, "stages are --stages 30s@100/s,1m@100/s..2k/s, rates instead of virtual users"},
		{[]string{"s", "script", "lua"}, true, "takt runs no scripts; write requests into a file for --targets, or replay a log with takt replay"},
		{[]string{"C", "cookie", "b"}, true, "a cookie is a header: -H 'Cookie: NAME=VALUE'"},
		{[]string{"json"}, false, "the report as JSON is -o json=FILE, or -o json=- for standard output"},
		{[]string{"no-tui", "quiet"}, false, "takt prints a line a second on standard error; --progress none prints nothing"},
		{[]string{"w", "wait-ongoing-requests-after-deadline"}, false, "takt waits for open requests; --drain TIME limits that"},
		{[]string{"out", "output-format", "summary-export"}, true, "an output is -o FORMAT=FILE, such as -o json=FILE or -o html=FILE"},
		{[]string{"burst-rate", "burst-delay"}, true, "bursts are stages: --stages 1s@1k/s,1s@0"},
		{[]string{"r", "redirect"}, true, "the number of redirects to follow is --redirects N"},
		{[]string{"gomaxprocs"}, true, "the number of cores is --cpus N"},
	}
}

// otherToolsKafka are flags of Kafka's own tools.
func otherToolsKafka() []OtherToolsFlag {
	return []OtherToolsFlag{
		{[]string{"bootstrap-server", "bootstrap-servers", "broker-list"}, true, "the brokers are --brokers LIST"},
		{[]string{"num-records"}, true, "the number of records is -n N"},
		{[]string{"record-size"}, true, "the size is --message-size BYTES, or a distribution"},
		{[]string{"throughput"}, true, "the rate is --rate N/s; -1 is no rate"},
		{[]string{"producer-props", "producer-property", "consumer-property"}, true, "properties are in a file, --properties FILE, or are flags such as --required-acks and --linger"},
		{[]string{"payload-file"}, true, "the lines of a file are --data FILE"},
		{[]string{"from-beginning"}, false, "takt kafka consume reads from the beginning; another place is --from latest, or --from TIME"},
		{[]string{"from-latest"}, false, "the end of the log is --from latest"},
		{[]string{"transaction-duration-ms", "transactional-id"}, true, "transactions are --transactions N, in records"},
		{[]string{"isolation-level"}, true, "only committed records are --read-committed"},
	}
}

// OtherToolsFile is a file of another load generator that takt cannot run.
type OtherToolsFile struct {
	Ends   string // how the name ends
	Is     string // what the file is
	Advice string // what to write
}

// OtherToolsFiles are the files that users of other load generators name first. docs/coming-from.md has
// the same table.
func OtherToolsFiles() []OtherToolsFile {
	const scripts = "takt runs no scripts: write the requests into a file for --targets, or the steps of a user into one for --scenario"
	return []OtherToolsFile{
		{".js", "a k6 script", "takt runs no scripts: takt scenario from FILE makes steps for --scenario of its requests; see docs/coming-from/k6.md"},
		{".ts", "a k6 script", scripts + "; see docs/coming-from/k6.md"},
		{".lua", "a script of wrk", scripts + "; see docs/coming-from/wrk.md"},
		{".jmx", "a JMeter test plan", "takt reads no test plans for a run: takt scenario from FILE makes steps for --scenario of it, or send the requests of JMeter's results again: takt replay results.jtl URL"},
		{".py", "a Python script, such as Locust's", scripts},
		{".scala", "a Gatling simulation", scripts},
	}
}
