package http1

import (
	"bytes"
	"math"

	"github.com/taktload/takt/internal/http2/wire"
)

// head is what a status line and headers say about the connection and body.
type head struct {
	status    int
	old       bool   // HTTP/1.0
	close     bool   // the connection ends with this answer
	keepAlive bool   // Connection: keep-alive, which HTTP/1.0 needs
	length    int64  // Content-Length; -1: not given
	codings   int    // number of Transfer-Encoding lines
	chunked   bool   // the last Transfer-Encoding is chunked
	coding    string // Content-Encoding, as codingOf has it
}

const protocol = "HTTP/1."

// readHead reads on to the end of the final answer's head.
func (c *Codec) readHead(in []byte) (n int, f *fault) {
	fresh := c.headLeft == c.opt.MaxHead && c.opt.Field == nil
	if fresh && c.recall(in) {
		return len(c.known.bytes), nil
	}
	for f == nil && c.phase != atBody {
		var used int
		if c.phase == atStatus {
			used, f = c.readStatus(in[n:])
		} else {
			used, f = c.readField(in[n:])
		}
		n += used
	}
	if fresh && f == nil {
		c.remember(in[:n])
	}
	return n, f
}

// readStatus does not wait for a line's end to refuse other protocols: a TLS alert or an SSH
// greeting would otherwise end as a timeout.
func (c *Codec) readStatus(in []byte) (int, *fault) {
	k := min(len(in), len(protocol))
	if string(in[:k]) != protocol[:k] {
		if beginsHTTP2(in) {
			return 0, errHTTP2
		}
		return 0, errNotHTTP
	}
	line, n, f := c.headLine(in)
	if f != nil {
		return 0, f
	}
	c.phase = atField
	c.said, f = parseStatus(line)
	return n, f
}

// beginsHTTP2 reports whether in is the SETTINGS with which a server of HTTP/2 begins.
func beginsHTTP2(in []byte) bool {
	if len(in) < wire.HeaderLength {
		return false
	}
	h := wire.ReadHeader(in)
	return h.Length < 1<<16 && h == wire.Header{Length: h.Length, Kind: wire.Settings}
}

// parseStatus reads the version and three digits, and ignores the reason.
func parseStatus(line []byte) (head, *fault) {
	if len(line) < len("HTTP/1.1 200") || line[8] != ' ' {
		return head{}, errStatus
	}
	if line[7] != '0' && line[7] != '1' {
		return head{}, errNotHTTP
	}
	code := bytes.TrimLeft(line[9:], " ")
	if len(code) < 3 || len(code) > 3 && code[3] != ' ' {
		return head{}, errStatus
	}
	status, ok := parseDecimal(code[:3])
	if !ok || status < 100 {
		return head{}, errStatus
	}
	return head{status: int(status), old: line[7] == '0', length: -1}, nil
}

func (c *Codec) readField(in []byte) (int, *fault) {
	line, n, f := c.headLine(in)
	if f != nil {
		return 0, f
	}
	if len(line) == 0 {
		return n, c.endHead()
	}
	if n == len(in) || isBlank(in[n]) {
		if line, n, f = c.unfold(in, line, n); f != nil {
			return n, f
		}
	}
	name, value, f := c.splitField(line)
	if f != nil {
		return n, f
	}
	if c.opt.Field != nil {
		c.opt.Field(name, value)
	}
	return n, c.said.note(name, value)
}

// unfold reads on to the end of a field that goes on in the next lines, which RFC 9112, 5.2 made obsolete: each line
// break with its blanks is a space. line is the first line of in, with its n bytes. Whether another one follows shows
// only with its first byte; until then only a line that is wrong in any case fails.
func (c *Codec) unfold(in, line []byte, n int) ([]byte, int, *fault) {
	from, lines := n, 0
	for {
		if n == len(in) {
			if f := c.hopeless(line); f != starved {
				return nil, n, f
			}
			c.headLeft += n // they are read again
			return nil, 0, starved
		}
		if !isBlank(in[n]) {
			break
		}
		_, used, f := c.headLine(in[n:])
		if f != nil {
			c.headLeft += n
			return nil, 0, f
		}
		n += used
		lines++
	}
	if c.fieldsLeft -= lines; c.fieldsLeft < 0 {
		return nil, n, errManyFields
	}
	if lines == 0 || isBlank(line[0]) {
		return line, n, nil
	}
	whole := append([]byte(nil), trimRightOWS(line)...)
	for more := range bytes.Lines(in[from:n]) {
		more = trimOWS(bytes.TrimSuffix(bytes.TrimSuffix(more, []byte("\n")), []byte("\r")))
		whole = append(append(whole, ' '), more...)
	}
	return whole, n, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// hopeless is the fault of a line that no next line can make right; starved: there is none.
func (c *Codec) hopeless(line []byte) *fault {
	name, value, f := parseField(line)
	switch {
	case c.fieldsLeft == 0:
		return errManyFields
	case f != nil:
		return f
	}
	if said := c.said; len(value) > 0 {
		if f := said.note(name, value); f != nil {
			return f
		}
	}
	return starved
}

// headLine cuts off a line of a head or trailer, which may end with a bare line feed (RFC
// 9112, 2.2), and counts its bytes.
func (c *Codec) headLine(in []byte) (line []byte, n int, f *fault) {
	n, f = cutLine(in, c.headLeft, errLongHead)
	if f != nil {
		return nil, 0, f
	}
	c.headLeft -= n
	line = in[:n-1]
	if n > 1 && line[n-2] == '\r' {
		line = line[:n-2]
	}
	return line, n, nil
}

// cutLine returns the first line's length, line feed included. A line longer than limit fails
// with long, even without its line feed.
func cutLine(in []byte, limit int, long *fault) (int, *fault) {
	if i := bytes.IndexByte(in[:min(len(in), limit)], '\n'); i >= 0 {
		return i + 1, nil
	}
	if len(in) >= limit {
		return 0, long
	}
	return 0, starved
}

// splitField counts a field and parses it.
func (c *Codec) splitField(line []byte) (name, value []byte, f *fault) {
	if c.fieldsLeft--; c.fieldsLeft < 0 {
		return nil, nil, errManyFields
	}
	return parseField(line)
}

// parseField refuses a line that goes on with a field that is not there, and blanks
// before the colon, which RFC 9112, 5.1 forbids because proxies disagree about them.
func parseField(line []byte) (name, value []byte, f *fault) {
	if isBlank(line[0]) {
		return nil, nil, errFold
	}
	i := tokenEnd(line)
	switch {
	case i == len(line):
		return nil, nil, errNoColon
	case i == 0 || line[i] != ':':
		return nil, nil, errName
	}
	if value = trimOWS(line[i+1:]); !cleanValue(value) {
		return nil, nil, errValue
	}
	return line[:i], value, nil
}

// note evaluates the four headers that matter here.
func (h *head) note(name, value []byte) *fault {
	switch {
	case equalFold(name, "connection"):
		h.close = h.close || hasWord(value, "close")
		h.keepAlive = h.keepAlive || hasWord(value, "keep-alive")
	case equalFold(name, "content-length"):
		return h.noteLength(value)
	case equalFold(name, "transfer-encoding"):
		h.codings++
		h.chunked = equalFold(value, "chunked")
	case equalFold(name, "content-encoding"):
		h.coding = JoinCodings(h.coding, value)
	}
	return nil
}

func (h *head) noteLength(value []byte) *fault {
	n, ok := parseDecimal(value)
	if !ok {
		return errLength
	}
	if h.length >= 0 && h.length != n {
		return errLengths
	}
	h.length = n
	return nil
}

// parseDecimal accepts only digits, and no more than an int64 holds.
func parseDecimal(s []byte) (n int64, ok bool) {
	for _, b := range s {
		d := int64(b) - '0'
		if d < 0 || d > 9 || n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, len(s) > 0
}
