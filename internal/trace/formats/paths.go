package formats

import (
	"bytes"
	"errors"

	"github.com/taktload/takt/internal/trace/parse"
)

// pathParser reads a list of requests: [METHOD] PATH or [METHOD] URL. It ignores the rest of
// a line. A path may lack its first slash.
type pathParser struct {
	strict bool // accept only [METHOD] PATH|URL [VERSION], and a path only with its slash
}

var errPath = errors.New("neither a path that begins with / nor a URL, alone or after a method")

func paths(h Hints) (Parser, error) { return pathParser{strict: h.Guessed}, nil }

// Parse implements Parser.
func (p pathParser) Parse(line []byte, f *parse.Line) error {
	if line[0] == '#' {
		return parse.ErrComment
	}
	words := bytes.TrimSpace(line)
	method, rest, ok := bytes.Cut(words, []byte(" "))
	if ok && parse.IsMethod(method) {
		f.Rec.Method, words = method, bytes.TrimSpace(rest)
	}
	uri, behind, _ := bytes.Cut(words, []byte(" "))
	if p.strict && !isListed(uri, behind) {
		return errPath
	}
	if len(uri) > 0 && uri[0] != '/' && !bytes.Contains(uri, []byte("://")) {
		uri = f.Rec.Join(nil, "/", uri)
	}
	if err := f.SetURI(uri); err != nil {
		return err
	}
	return f.Finish(false)
}

// isListed reports whether a URI and the rest of its line are strict: see pathParser.
func isListed(uri, behind []byte) bool {
	scheme, _, ok := bytes.Cut(uri, []byte("://"))
	return (ok && parse.IsScheme(scheme) || len(uri) > 0 && uri[0] == '/') && (len(behind) == 0 || bytes.HasPrefix(behind, []byte("HTTP/")))
}
