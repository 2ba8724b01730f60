package formats

import (
	"bytes"
	"net/netip"

	"github.com/taktload/takt/internal/trace/parse"
)

// forwardedParser reads combined or common with several addresses instead of one: the list of X-Forwarded-For, also
// in quotes, with or without the host before it, and with or without the address of the proxy. Of such a log some
// lines have one address. The client is the first that is not of a private network, else the first.
type forwardedParser struct{ combined, common *parse.Pattern }

func forwarded(Hints) (Parser, error) {
	combined, err := compile(apachePieces, combinedShape, setTail)
	if err != nil {
		return nil, err
	}
	common, err := compile(apachePieces, commonShape, setPlainTail)
	return forwardedParser{combined, common}, err
}

// Parse implements Parser.
func (p forwardedParser) Parse(line []byte, f *parse.Line) error {
	host, rest := forwardedHost(line)
	client, n, rest := forwardedList(rest)
	switch {
	case client != nil:
	case host != nil && n == 0: // a name
		client, rest, _ = bytes.Cut(rest, []byte(" "))
	default:
		return parse.ErrShape
	}
	inner := f.Rec.Join(client, " ", rest)
	err := p.combined.Parse(inner, f)
	if err == parse.ErrShape {
		memory := f.Rec.Memory
		f.Rec.Reset()
		f.Rec.Memory = memory // inner is in it
		f.Begin(f.Rec)
		err = p.common.Parse(inner, f)
	}
	if err == nil && host != nil {
		return setVhost(f, host)
	}
	return err
}

// forwardedHost cuts a host off the start of a line; nil: the line begins with an address.
func forwardedHost(line []byte) (host, rest []byte) {
	word, behind, _ := bytes.Cut(line, []byte(" "))
	isName := len(word) > 1 && word[len(word)-1] != ',' && word[0] != '"' && !isAddress(word)
	isPort := bytes.Count(word, []byte(":")) == 1 && isAddress(word) // the server's address and port
	if isName || isPort {
		return word, behind
	}
	return nil, line
}

// mostForwarded limits the addresses of a line.
const mostForwarded = 16

// forwardedList cuts off addresses, and chooses the client's. The words of a list end with commas, except for the
// last, and may be names; a list in quotes counts as two.
func forwardedList(line []byte) (client []byte, n int, rest []byte) {
	rest = line
	for listed := false; n < mostForwarded; n++ {
		word, behind, _ := bytes.Cut(rest, []byte(" "))
		if len(word) > 1 && word[0] == '"' {
			quoted, after, ok := bytes.Cut(rest[1:], []byte(`" `))
			if !ok {
				break
			}
			first, inside, _ := forwardedList(quoted)
			if inside == 0 {
				break
			}
			client, n, rest = better(client, first), n+inside, after
			continue
		}
		text, more := bytes.CutSuffix(word, []byte(","))
		addr := isAddress(text)
		if !addr && !more && !listed && (n > 0 || !parse.Absent(word)) || len(text) == 0 {
			break
		}
		if listed = more; addr {
			client = better(client, text)
		}
		rest = behind
	}
	return client, n, rest
}

// better is the address that is more likely of a client.
func better(a, b []byte) []byte {
	if a == nil || b != nil && isPrivate(a) && !isPrivate(b) {
		return b
	}
	return a
}

// isAddress reports whether v is an address, with or without a port.
func isAddress(v []byte) bool {
	_, ok := address(v)
	return ok
}

// isPrivate reports whether an address is of a network that is not public.
func isPrivate(v []byte) bool {
	addr, ok := address(v)
	return ok && (addr.IsPrivate() || addr.IsLoopback())
}

func address(v []byte) (netip.Addr, bool) {
	if len(v) < 2 || !parse.IsDigit(v[0]) && v[0] != ':' && v[0] != '[' && bytes.IndexByte(v, ':') < 0 {
		return netip.Addr{}, false // a name; the parser would make an error of it
	}
	addr, err := netip.ParseAddr(string(v))
	if err == nil {
		return addr, true
	}
	both, err := netip.ParseAddrPort(string(v))
	return both.Addr(), err == nil
}
