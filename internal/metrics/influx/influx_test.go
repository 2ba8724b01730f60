package influx

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taktload/takt/internal/metrics"
	"github.com/taktload/takt/internal/test/metricstest"
	"github.com/taktload/takt/internal/value"
)

func open(t *testing.T, where string) metrics.Exporter {
	t.Helper()
	d, err := Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.Open(metrics.Run{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	return e
}

const tags = `,run=01KB,shard=2/3,kind=http,target=http://127.0.0.1:8080/,takt_version=1.2.3,label_9=x,label_a.b=1,label_a_b=2,label_hostile=a"b\c\ d\,e\=f\ g{h}\ \ #\ EOF,label_revision=abc`

var want = []string{
	"takt" + tags + " scheduled=1002i,ok=1000i,failed=2i,dropped=0i,sent_bytes=1000i,received_bytes=20000i,response_p50=0.001000447,response_p90=0.001000447,response_p99=0.001000447,response_p99_9=0.020004863,response_max=0.020004863,service_p50=0.001000447,service_p90=0.001000447,service_p99=0.001000447,service_p99_9=0.020004863,service_max=0.020004863,schedule_lag_p99=0.00005,in_flight=7i,unread=3i,cpu=0.25,warmup=true 1795831201000000000\n" +
		"takt_errors" + tags + ",class=5xx count=2i 1795831201000000000\n",
	"",
	"takt_run" + tags + " scheduled=2004i,ok=2000i,failed=4i,dropped=0i,sent_bytes=2000i,received_bytes=40000i,unfinished=5i,cpu=0.25,valid=true 1795831201900000000\n",
}

// The lines are those of the protocol, whatever the labels contain.
func TestLines(t *testing.T) {
	for i, b := range metricstest.Batches(t, "2/3") {
		if got := string(lines(b)); want[i] != "" && got != want[i] {
			t.Errorf("batch %d:\n%s", i, got)
		}
	}
}

// Version 1 and version 2 of InfluxDB get the lines where they expect them, with the credentials of the URL.
func TestHTTP(t *testing.T) {
	var path, query, auth, body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, query, auth = r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization")
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	for where, want := range map[string][3]string{
		s.URL + "?db=load":                        {"/write", "db=load&precision=ns", ""},
		"http://ann:pass@" + host + "/?db=load":   {"/write", "db=load&precision=ns", "Basic YW5uOnBhc3M="},
		s.URL + "?org=o&bucket=b&token=se%2Fcret": {"/api/v2/write", "bucket=b&org=o&precision=ns", "Token se/cret"},
		s.URL + "/insert/influx/write":            {"/insert/influx/write", "precision=ns", ""},
	} {
		e := open(t, where)
		b := metricstest.Batches(t, "2/3")[0]
		if err := e.Export(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if path != want[0] || query != want[1] || auth != want[2] || body != string(lines(b)) {
			t.Errorf("%s: %s?%s, %q, %s", where, path, query, auth, body)
		}
	}
}

// A packet has whole lines.
func TestUDP(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := open(t, "udp://"+c.LocalAddr().String())
	b := metricstest.Batches(t, "")[0]
	b.Last.Errors = map[string]uint64{}
	for i := range 20 {
		b.Last.Errors["class_"+strings.Repeat("x", i)] = 1
	}
	if err := e.Export(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got, packet := "", make([]byte, 1<<16)
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	for got != string(lines(b)) {
		n, _, err := c.ReadFrom(packet)
		if err != nil || n > mostPacket || packet[n-1] != '\n' {
			t.Fatalf("%d bytes, %v, after %s", n, err, got)
		}
		got += string(packet[:n])
	}
}

// A file gets lines at its end; a part of a line that a full disk accepted is removed.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "takt.lp")
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := open(t, path)
	text := "old\n"
	for _, b := range metricstest.Batches(t, "") {
		if err := e.Export(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		text += string(lines(b))
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("%v: %s", err, got)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := open(t, "/dev/full").Export(t.Context(), metricstest.Batches(t, "")[0]); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a full disk: %v", err)
		}
	}
}

func TestParse(t *testing.T) {
	for where, want := range map[string]value.Name{
		"http://h:8086?db=a":   {Kind: value.Loads, Text: "http://h:8086"},
		"https://h/api?x=y":    {Kind: value.Loads, Text: "https://h"},
		"udp://h:8089":         {Kind: value.Loads, Text: "h:8089"},
		"a/b.lp":               {Kind: value.Writes, Text: "a/b.lp"},
		"http://h:8086":        {},
		"http://h:8086/?org=a": {},
		"tcp://h:1":            {},
		"udp://h":              {},
		"http://":              {},
		"-":                    {},
	} {
		d, err := Parse(where)
		if (err == nil) != (want.Text != "") || err == nil && d.Names[0] != want {
			t.Errorf("%s: %v, %v", where, d.Names, err)
		}
	}
	d, _ := Parse("http://ann:pass@h/?u=ann&p=word&db=x")
	if d.Shown != "http://ann:xxxxx@h/?u=ann&p=xxxxx&db=x" || strings.Join(d.Secrets, " ") != "pass word" {
		t.Errorf("%s, secrets %q", d.Shown, d.Secrets)
	}
}
