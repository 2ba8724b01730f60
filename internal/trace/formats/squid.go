package formats

import (
	"bytes"
	"errors"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// squidParser reads Squid's native log (wiki.squid-cache.org, Features/LogFormat): end of the
// request in seconds with milliseconds, milliseconds taken, client, result/status, size of the
// answer, method, URL, user, hierarchy, type. Blanks align the columns.
type squidParser struct{}

var errSquid = errors.New("the line does not have the columns of Squid's native log")

func squid(Hints) (Parser, error) { return squidParser{}, nil }

// squidColumns are the values that takt uses, in their order; nil: ignored.
func squidColumns() [7]parse.Setter {
	return [...]parse.Setter{parse.End, parse.Latency(time.Millisecond), parse.Client, setSquidResult, parse.Size(parse.AnswerBytes, true), parse.Method, setSquidURL}
}

// Parse implements Parser.
func (squidParser) Parse(line []byte, f *parse.Line) error {
	rest := line
	for _, set := range squidColumns() {
		var word []byte
		rest = bytes.TrimLeft(rest, " ")
		word, rest, _ = bytes.Cut(rest, []byte(" "))
		if len(word) == 0 {
			return errSquid
		}
		if err := set(f, word); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return errSquid
	}
	return f.Finish(true)
}

// setSquidResult stores the status of TCP_MISS/200. 000 is no answer.
func setSquidResult(f *parse.Line, v []byte) error {
	_, status, ok := bytes.Cut(v, []byte("/"))
	if !ok {
		return errSquid
	}
	if string(status) == "000" {
		return nil
	}
	return parse.Status(f, status)
}

// setSquidURL refuses what is no URL: the host:port of a tunnel, and error:… of a bad request.
func setSquidURL(f *parse.Line, v []byte) error {
	if !bytes.Contains(v, []byte("://")) && v[0] != '/' {
		return parse.OtherURL
	}
	return parse.URI(f, v)
}
