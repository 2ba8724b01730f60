package http

// way is a way in which takt sends requests: a column of the table of flags.
type way int

const (
	byLoop   way = iota // takt's own client in the loop mode
	byWorker            // takt's own client in workers
	byNet               // net/http
	byH2                // takt's own client over HTTP/2, in the loop mode
	byHey               // hey's requester, for --contrast
	ways
)

// cells say what is special about a flag in some of the ways.
type cells map[way]string

// effect is a row of the table of flags. A flag does what its help says in each way that has no cell.
type effect struct {
	flag    string
	of      string              // the special case of the flag that the row is about; "": the flag as such
	given   func(*Options) bool // the case of refused; nil: another check refuses it
	refused cells               // what the way does not have, for an error
	without cells               // why the flag has no effect
	differs cells               // what the flag does instead
}

// own are cells of takt's own client.
func own(why string) cells { return cells{byLoop: why, byWorker: why, byH2: why} }

// effects is the table: each flag of takt http has a row, and a test runs each cell.
func effects() []effect {
	const inWorkers = "HTTP/2 in workers (--h2 with --engine worker, or not on Linux)"
	return []effect{
		{flag: "method"},
		{flag: "header", differs: cells{byH2: "names in lower case, without those about a connection of HTTP/1.1"}},
		{flag: "accept"},
		{flag: "user-agent"},
		{flag: "content-type"},
		{flag: "auth"},
		{flag: "auth-file"},
		{flag: "bearer"},
		{flag: "bearer-file"},
		{flag: "host"},
		{flag: "body"},
		{flag: "body-file"},
		{flag: "body-template"},
		{
			flag: "scenario", given: func(o *Options) bool { return o.Scenario != "" },
			refused: cells{byNet: "net/http (--client net)", byHey: "steps of users (--scenario)"},
		},
		{flag: "rounds", refused: cells{byNet: "net/http (--client net)", byHey: "steps of users (--scenario)"}},
		{flag: "targets"},
		{
			flag: "targets", of: "several hosts", given: func(o *Options) bool { return o.list != nil && !o.list.oneHost },
			refused: own("targets on several hosts (--targets)"),
		},
		{
			flag: "targets", of: "longer than memory", given: func(o *Options) bool { return o.list != nil && o.list.kept == nil },
			refused: cells{byHey: "targets that are read while the run goes (--targets)"},
		},
		{flag: "timeout", differs: cells{byHey: "whole seconds, rounded up"}},
		{flag: "connect-timeout", without: cells{byHey: "hey's only time limit is that for a request"}},
		{flag: "disable-compression"},
		{flag: "disable-keepalive", differs: cells{byH2: "HTTP/2 has no Connection: close"}},
		{
			flag: "h2", given: func(o *Options) bool { return o.HTTP2 && !o.loops },
			refused: cells{byWorker: inWorkers},
		},
		{
			flag: "h2", of: "without TLS", given: func(o *Options) bool { return o.HTTP2 && o.protocol() == "h2c" },
			refused: cells{byWorker: inWorkers, byHey: "HTTP/2 without TLS (--h2)"},
		},
		{flag: "h2-connections", refused: cells{byWorker: inWorkers}, without: cells{byHey: "net/http opens as many connections as it wants"}},
		{flag: "h2-streams", refused: cells{byWorker: inWorkers}, without: cells{byHey: "hey sends -c requests at once"}},
		{
			flag: "proxy", of: "over TLS", given: func(o *Options) bool { return o.Proxy.url != nil && o.Proxy.url.Scheme == "https" },
			refused: own("proxies over TLS (--proxy https://…)"),
		},
		{
			flag: "proxy", given: func(o *Options) bool { return o.Proxy.url != nil && o.HTTP2 && o.protocol() == "h2c" },
			refused: cells{byH2: "HTTP/2 without TLS through a proxy (--proxy)"},
			differs: cells{byNet: "connections to the proxy stay open", byHey: "connections to the proxy stay open"},
		},
		{flag: "proxy", of: "to https", differs: cells{byNet: "bytes include those of CONNECT and TLS"}},
		{
			flag: "unix-socket", given: func(o *Options) bool { return o.UnixSocket != "" },
			refused: cells{byH2: "HTTP/2 over a Unix socket (--h2 with --unix-socket)", byHey: "unix sockets (--unix-socket)"},
			differs: cells{byLoop: "workers send: the loop is for TCP"},
		},
		{
			flag: "connect-to", given: func(o *Options) bool { return len(o.ConnectTo) > 0 },
			refused: cells{byHey: "other address than the URL's (--connect-to)"},
		},
		{flag: "insecure", without: cells{byHey: "hey verifies no certificate"}},
		{flag: "cacert", without: cells{byHey: "hey verifies no certificate"}},
		{
			flag: "cert", given: func(o *Options) bool { return o.TLS.Cert != "" },
			refused: cells{byHey: "client certificate (--cert)"},
		},
		{flag: "key", refused: cells{byHey: "client certificate (--cert)"}},
		{flag: "tls-min", without: cells{byHey: "takt's run has ended before its start if the server has only lower versions"}},
		{
			flag: "tls-max", given: func(o *Options) bool { return o.TLS.Limited() },
			refused: cells{byHey: "highest version of TLS (--tls-max)"},
		},
		{
			flag: "tls-ciphers", given: func(o *Options) bool { return o.TLS.Ciphers.Given() },
			refused: cells{byHey: "cipher suites (--tls-ciphers)"},
		},
		{flag: "tls-keylog", without: cells{byHey: "hey logs no secrets"}},
		{flag: "tls-resume", without: cells{byHey: "hey resumes no sessions"}},
		{flag: "client", without: cells{byHey: "hey's requester is a client of its own"}},
		{
			flag: "redirects", given: func(o *Options) bool { return o.Redirects > 0 },
			refused: own("redirects that are followed (--redirects)"), differs: cells{byHey: "up to 10, whatever N is"},
		},
		{flag: "disable-redirects"},
		{flag: "fail-on", without: cells{byHey: "in hey only a request without an answer has failed"}},
		{flag: "expect-body", differs: cells{byHey: "asks for no compression, and fails nothing"}},
		{flag: "contrast"},
		{
			flag: "stream", given: func(o *Options) bool { return o.Stream },
			refused: cells{byNet: "net/http (--client net)", byHey: "parts of answers (--stream)"},
		},
		{
			flag:    "stream-max",
			refused: cells{byNet: "net/http (--client net)", byHey: "parts of answers (--stream)"},
		},
	}
}

// lacks names what a way does not have of what was asked for, "" if nothing.
func (o *Options) lacks(w way) string {
	for _, e := range effects() {
		if why := e.refused[w]; why != "" && e.given != nil && e.given(o) {
			return why
		}
	}
	return ""
}

// needsNet names what only net/http can do of what was asked for, "" if nothing.
func (o *Options) needsNet() string {
	switch {
	case o.HTTP2 && o.Scenario != "":
		return o.lacks(byH2)
	case o.HTTP2 && o.Recording != nil:
		return "HTTP/2 for recorded requests (--h2)"
	case !o.loops:
		return o.lacks(byWorker)
	case o.HTTP2:
		return o.lacks(byH2)
	}
	return o.lacks(byLoop)
}

// beyondHey names what hey cannot do of what was asked for, "" if nothing.
func (o *Options) beyondHey() string {
	if o.closed {
		return "schedule, and this run has none either (--rate)"
	}
	return o.lacks(byHey)
}
