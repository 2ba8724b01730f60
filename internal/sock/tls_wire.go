package sock

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"time"
)

// wire is the transport below TLS: a connection during the handshake, memory afterwards. It
// passes on whole records only: crypto/tls asks for a header and then for the rest, and would
// make a system call for each, and an error for each part.
type wire struct {
	conn          net.Conn // nil: memory
	local, remote net.Addr
	in            []byte // received and not read; the caller's bytes during Open, else own
	own           []byte
	whole         int  // the first bytes of in, which are the rest of whole records
	eof           bool // nothing follows in
	cut           bool // TLS wanted more than there was
	out           []byte
	sent          int // the first bytes of out, which the socket took
}

// feed adds received bytes.
func (w *wire) feed(b []byte, eof bool) {
	w.eof = w.eof || eof
	if len(w.in) == 0 {
		w.in = b
		return
	}
	w.own = append(w.own, b...) // in is all of own, see keep
	w.in = w.own
}

// keep copies what is left of the caller's bytes: less than a record, unless TLS has failed.
func (w *wire) keep() {
	if len(w.in) == 0 {
		w.own, w.in = w.own[:0], nil
		return
	}
	w.own = append(w.own[:0], w.in...)
	w.in = w.own
}

// Read implements net.Conn. Without a connection it never waits.
func (w *wire) Read(b []byte) (int, error) {
	for w.whole == 0 {
		w.whole = records(w.in)
		switch {
		case w.whole > 0:
		case w.eof && len(w.in) > 0:
			w.whole = len(w.in) // TLS says that it is cut off
		case w.eof:
			w.cut = true
			return 0, io.EOF
		case w.conn == nil:
			return 0, errEmpty
		default:
			if err := w.receive(); err != nil {
				return 0, err
			}
		}
	}
	n := copy(b, w.in[:w.whole])
	w.in, w.whole = w.in[n:], w.whole-n
	return n, nil
}

// receive waits for bytes of the connection.
func (w *wire) receive() error {
	w.keep()
	w.own = slices.Grow(w.own, 4<<10)
	n, err := w.conn.Read(w.own[len(w.own):cap(w.own)])
	w.own = w.own[:len(w.own)+n]
	w.in = w.own
	if err == io.EOF {
		w.eof = true
		return nil
	}
	return err
}

// header is the size of a record's header: type, version, length (RFC 8446, section 5.1).
const header = 5

// records is the length of the whole records at the start of b. TLS gets what is no record
// at once, because it knows what to say about it.
func records(b []byte) (n int) {
	for len(b)-n >= header {
		size := int(binary.BigEndian.Uint16(b[n+3:]))
		if kind := b[n]; kind < 20 || kind > 24 || b[n+1] != 3 || size > maxPlain+2048 {
			return len(b)
		}
		if len(b)-n < header+size {
			break
		}
		n += header + size
	}
	return n
}

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	if w.conn != nil {
		return w.conn.Write(b)
	}
	w.out = append(w.out, b...)
	return len(b), nil
}

// Close implements net.Conn. TLS calls it when the context of the handshake ends.
func (w *wire) Close() error {
	if w.conn != nil {
		return w.conn.Close()
	}
	return nil
}

// The other methods of net.Conn. TLS sets a deadline before an alert; in memory nothing waits.

func (w *wire) LocalAddr() net.Addr                { return w.local }
func (w *wire) RemoteAddr() net.Addr               { return w.remote }
func (w *wire) SetDeadline(at time.Time) error     { return w.deadline(at) }
func (w *wire) SetReadDeadline(at time.Time) error { return w.deadline(at) }

// SetWriteDeadline implements net.Conn.
func (w *wire) SetWriteDeadline(at time.Time) error { return w.deadline(at) }

func (w *wire) deadline(at time.Time) error {
	if w.conn != nil {
		return w.conn.SetDeadline(at)
	}
	return nil
}
