//go:build unix

package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// forbidden is a machine that sessions may not load. It counts the connections that it gets.
type forbidden struct {
	net.Listener
	accepted atomic.Int64
}

func (f *forbidden) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err == nil {
		f.accepted.Add(1)
	}
	return c, err
}

func newForbidden(t *testing.T) *forbidden {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forbidden{Listener: l}
	go func() { _ = http.Serve(f, http.NotFoundHandler()) }()
	t.Cleanup(func() { l.Close() })
	return f
}

// relay passes connections on to another address, and counts them.
func relay(t *testing.T, to string) (address string, passed *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	passed = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			passed.Add(1)
			server, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, c); server.Close() }()
			go func() { _, _ = io.Copy(c, server); c.Close() }()
		}
	}()
	return l.Addr().String(), passed
}

// The process of a job connects only to machines of its list, whatever leads elsewhere: a word, a list, a
// redirect, also through a proxy, or the name of a realm.
func TestJobsReachTheirTargets(t *testing.T) {
	s := newSessionFiles(t)
	bad := newForbidden(t)
	leads := httptest.NewServer(http.RedirectHandler("http://"+bad.Addr().String()+"/stolen", http.StatusFound))
	t.Cleanup(leads.Close)
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if proxied.Add(1); r.URL.Host != bad.Addr().String() {
			http.Redirect(w, r, "http://"+bad.Addr().String()+"/stolen", http.StatusFound)
		}
	}))
	t.Cleanup(proxy.Close)
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	fill := strings.NewReplacer("BAD", bad.Addr().String(), "LEADS", host(leads.URL), "PROXY", host(proxy.URL)).Replace
	s.plant("list", fill("GET http://BAD/\n"))
	s.plant("krb5.conf", "[libdefaults]\ndns_lookup_kdc = true\n")
	s.plant("password", "secret")
	const one = "http -n 1 -c 1 --no-store --progress none "
	reaches := []string{host(s.url), host(leads.URL), host(proxy.URL)}
	for _, line := range []string{
		one + "http://BAD", one + "--client net http://BAD", one + "--engine worker http://BAD", one + "--h2 http://BAD", one + "--unix-socket ids URL",
		one + "--redirects 3 http://LEADS", one + "--redirects 1 -x PROXY http://LEADS", one + "-x PROXY http://BAD", one + "-x BAD URL", one + "--connect-to ::BAD URL",
		one + "--targets list", one + "--export graphite=BAD -m POST URL", one + "--export influx=http://BAD/?db=x -m POST URL", one + "--export otlp=http://BAD -m POST URL",
		"apm -n 1 --no-store http://BAD", "apm --stream --timeout 1s -z 1s -c 1 --no-store http://BAD", "jms client -n 1 --no-store --url amqp://BAD queue://x",
		"kafka produce -n 1 --no-store --topic x --connect-timeout 1s --brokers BAD", "kafka consume -n 1 --no-store --topic x --connect-timeout 1s --brokers BAD",
		"kafka produce -n 1 --no-store --topic x --brokers LEADS --sasl gssapi --sasl-user x@EVIL.EXAMPLE --sasl-password-file password --sasl-krb5-conf krb5.conf",
	} {
		out, _ := s.jobTo(reaches, true, fill(line))
		if !strings.Contains(out, "may not be loaded; the server allows what --allow-target lists") && !strings.Contains(out, "the realm EVIL.EXAMPLE has no server in krb5.conf") {
			t.Errorf("%s\n%s", line, out)
		}
		if n := bad.accepted.Swap(0); n > 0 {
			t.Errorf("%s\n%d connections to another machine\n%s", line, n, out)
		}
	}
	if n := proxied.Load(); n != 1 { // the first request of LEADS
		t.Errorf("%d requests reached the proxy", n)
	}
	// A machine that the environment of the owner names is the owner's choice.
	if out, code := s.jobTo(reaches, true, one+"-m POST URL", fill("TAKT_EXPORT=graphite=BAD")); code != 0 || bad.accepted.Load() == 0 {
		t.Errorf("exit code %d, %d connections: %s", code, bad.accepted.Load(), out)
	}
}

// A broker of the list names another one, which the job would produce to and consume from. It does so only if
// that one is in the list, too. The attempt is in the audit log.
func TestJobsReachTheirBrokers(t *testing.T) {
	s := newSessionFiles(t)
	var listener *forbidden
	listen := func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		listener = &forbidden{Listener: l}
		return listener, err
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.ListenFn(listen))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	named := broker.ListenAddrs()[0]
	first, passed := relay(t, named)
	say, _ := s.server("X=", "--allow-target", first)
	for _, command := range []string{
		"kafka produce --drain 1s --client takt", "kafka produce --drain 1s --client franz", "kafka produce --drain 1s --client sarama", "kafka consume --from beginning -z 1s",
	} {
		text := say(command + " -n 1 --no-store --progress none --topic t --connect-timeout 2s --brokers " + first)
		if listener.accepted.Load() != passed.Load() {
			t.Errorf("%s\n%d connections, of which %d came through the allowed broker\n%s", command, listener.accepted.Load(), passed.Load(), text)
		}
		log := s.audit()
		if begun := strings.LastIndex(log, `"outcome":"begins"`); begun < 0 || !strings.Contains(log[begun:], `"outcome":"refused: `+named+` may not be loaded; the server allows what --allow-target lists"`) {
			t.Errorf("%s\n%s\nthe audit log has\n%s", command, text, log)
		}
	}
	if out, code := s.jobTo([]string{first, named}, false, "kafka produce -n 1 --no-store --progress none --topic t --brokers "+first); code != 0 || listener.accepted.Load() == passed.Load() {
		t.Errorf("exit code %d: %s", code, out)
	}
}
