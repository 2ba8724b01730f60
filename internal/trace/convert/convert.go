// Package convert writes records in other forms: the predecessor's load format, targets of vegeta,
// or the files that a server needs to answer the requests of a log.
package convert

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/taktload/takt/internal/trace"
)

// Converted counts what Convert wrote.
type Converted struct {
	Written uint64
	Refused uint64 // records that the format cannot express
	First   error  // why the first refused record was refused
	Bare    uint64 // written records that lost their header, since the load format has none
}

var errNoHost = errors.New("the log has no hosts; give the server that the paths are of with --base")

// ToLoad writes records as a load file for a replay: status, size and times as recorded,
// bodies in the tenth column. Times are in the zone of the log's reader.
func ToLoad(dst io.Writer, src trace.Stream) (Converted, error) {
	var c Converted
	out := bufio.NewWriterSize(dst, 64<<10)
	_, _ = out.WriteString(LoadInputHead) // Flush returns an error
	var row []byte
	err := trace.Each(src, func(r *trace.Record) (err error) {
		if row, err = AppendLoadInput(row[:0], r); err != nil {
			c.refuse(r, err)
			return nil
		}
		c.Written++
		if len(r.Header) > 0 {
			c.Bare++
		}
		_, err = out.Write(row)
		return err
	})
	return c, cmp.Or(err, out.Flush())
}

// vegetaTarget is a line of vegeta's format json (github.com/tsenart/vegeta, "-format").
type vegetaTarget struct {
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Body   []byte              `json:"body,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
}

// ToVegeta writes records as targets of vegeta, one JSON object per line. base, which may
// be nil, is the server to send to; a recorded host other than base's goes into the header
// Host.
func ToVegeta(dst io.Writer, src trace.Stream, base *url.URL) (Converted, error) {
	var c Converted
	out := bufio.NewWriterSize(dst, 64<<10)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	err := trace.Each(src, func(r *trace.Record) error {
		t, err := vegetaOf(r, base)
		if err != nil {
			c.refuse(r, err)
			return nil
		}
		c.Written++
		return lines.Encode(t)
	})
	return c, cmp.Or(err, out.Flush())
}

func vegetaOf(r *trace.Record, base *url.URL) (vegetaTarget, error) {
	t := vegetaTarget{Method: string(r.Method), Body: r.Body, Header: map[string][]string{}}
	r.Fields(func(name, value string) { t.Header[name] = append(t.Header[name], value) })
	scheme, host := string(r.Scheme), string(r.Host)
	if base != nil {
		if host != "" && host != base.Host {
			t.Header["Host"] = []string{host}
		}
		scheme, host = base.Scheme, base.Host
	}
	if host == "" {
		return t, errNoHost
	}
	if scheme == "" {
		scheme = "http"
	}
	t.URL = scheme + "://" + host + string(r.URI)
	return t, nil
}

func (c *Converted) refuse(r *trace.Record, err error) {
	c.Refused++
	if c.First == nil {
		c.First = fmt.Errorf("%s:%d: %w", r.File, r.Line, err)
	}
}
