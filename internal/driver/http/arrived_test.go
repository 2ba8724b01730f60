package http_test

import (
	nethttp "net/http"
	"runtime"
	"testing"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// Every client tells when an answer came to this host, so that the time until the client
// reads the answer is not the target's.
func TestArrived(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux stamps what it receives")
	}
	plain, secure := newEcho(t, slow), newEcho(t, slow)
	plain.Config.Protocols = new(nethttp.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	secure.EnableHTTP2 = true
	cacert := secure.startTLS(t)
	for _, e := range []*echo{plain, secure} {
		for _, client := range []string{"own", "net", "h2"} {
			o := options("auto")
			o.TLS.CACert = cacert
			if client == "h2" {
				o.HTTP2, o.HTTP2Connections = true, 1
			} else {
				o.Client = client
			}
			d := open(t, o, e.URL)
			if d.Loop != nil {
				_, d.Worker = engine.Blocking(d.Loop)
			}
			w, err := d.Worker(0)
			if err != nil {
				t.Fatal(err)
			}
			var op takt.Op
			for range 2 { // the second on a connection that is there
				var r takt.Result
				sent := time.Now()
				w.Do(t.Context(), &op, &r)
				read := time.Now()
				if r.Class != "" || r.Arrived.Sub(sent) < 5*time.Millisecond || r.Arrived.After(read) {
					t.Errorf("%s of %s: %s %v, arrived %v after it was sent, read %v after it", client, e.URL, r.Class, r.Err, r.Arrived.Sub(sent), read.Sub(sent))
				}
			}
			w.Close()
		}
	}
}
