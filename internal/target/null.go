package target

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/taktload/takt/internal/sock"
	"github.com/taktload/takt/internal/value"
)

// The null server is what takt target --null is: it answers every request at once,
// with the same bytes, in one thread that owns all sockets. A request takes it a
// receive and a send; so what a load shows against it is the noise of the generator
// and the machine.

// errNoNull says where there is no null server.
var errNoNull = errors.New("only Linux has what it needs; leave it out: without --service the target answers at once too, for more CPU")

// nullFaults are those of --null: the null server takes no time, keeps no record and
// never fails, so what asks for that is not passed over.
func (o Options) nullFaults(s settings) (faults []error) {
	if !o.Null {
		return nil
	}
	if !sock.Available {
		faults = append(faults, value.Faultf("--null: %w", errNoNull))
	}
	if o.TLS {
		faults = append(faults, value.Faultf("--tls: the null server speaks no TLS; leave out --null or --tls"))
	}
	if o.H2 && !o.GRPC {
		faults = append(faults, value.Faultf("--h2: the null server speaks HTTP/1.1 only; leave out --null or --h2"))
	}
	service, err := time.ParseDuration(cmp.Or(o.Service, "0"))
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"service", err != nil || service != 0}, {"servers", o.Servers != 0}, {"freeze", o.Freeze != ""},
		{"status", o.Status != 0 && o.Status != defaultStatus}, {"error-rate", s.fates.errors > 0},
		{"reset-rate", s.fates.resets > 0}, {"half-open-rate", s.fates.halfOpens > 0}, {"close-rate", s.fates.closes > 0}, {"slow", o.Slow != ""}, {"slow-start", o.SlowStart != ""}, {"truth", o.Truth != ""}, {"sse", o.SSE != ""}, {"grpc", o.GRPC},
	} {
		if f.given {
			faults = append(faults, value.Faultf("--%s: the null server answers every request at once with status 200 and records nothing; leave out --null or --%s", f.name, f.name))
		}
	}
	return faults
}

// nullAnswer is what every request gets.
func nullAnswer(size int) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, filler(size))
}

// nullRefusal ends a connection whose next request cannot be told apart.
func nullRefusal(status int) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", status, http.StatusText(status))
}

// nullHead reads the head that in begins with. n is its length, 0: there is more to
// come. It looks at what says where the request ends, and whether another may follow.
func nullHead(in []byte) (q request, n int, err error) {
	q.left = maxHead
	old := false // HTTP/1.0: the answer does not say that the connection stays
	for first := true; ; {
		i := bytes.IndexByte(in[n:], '\n')
		if i < 0 {
			return q, 0, nil
		}
		line := bytes.TrimSuffix(in[n:n+i], []byte("\r"))
		n += i + 1
		switch {
		case len(line) == 0 && !first:
			q.close = q.close || old
			return q, n, nil
		case len(line) == 0: // left over from the last body, RFC 9112 2.2
		case first:
			first, err = false, q.first(line)
			old = q.close
		case line[0]|0x20 == 'c' || line[0]|0x20 == 't': // Content-Length, Connection, Transfer-Encoding
			err = q.field(line)
		}
		if err != nil {
			return q, n, err
		}
	}
}

// nullStatus is why the request is refused, 0: it is not. An answer to HEAD would
// have no body, and a body in chunks would have to be read chunk by chunk.
func nullStatus(q request, err error) int {
	switch {
	case err != nil:
		return http.StatusBadRequest
	case q.head:
		return http.StatusNotImplemented
	case q.chunked:
		return http.StatusLengthRequired
	}
	return 0
}
