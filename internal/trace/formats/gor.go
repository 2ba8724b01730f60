package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// gorDecoder reads the files of GoReplay (github.com/buger/goreplay, wiki, "Saving and Replaying from file"): a line
// with the kind of message, its id, the time in nanoseconds and the latency, then the message as it was on the wire,
// and a line of three monkeys between the messages.
type gorDecoder struct {
	in     *bufio.Reader
	buf    []byte
	line   int // of the last message
	n      int // lines read
	filler parse.Line
	ended  bool
}

const (
	gorEnd  = "🐵🙈🙉"
	maxGor  = 16 << 20 // bytes of a message
	maxBody = 8 << 20
)

const gorAnswer parse.NoRequest = "an answer; GoReplay's requests are replayed"

var (
	errGor     = errors.New("not a message of GoReplay: kind, id and time in its first line, then a request")
	errLongGor = errors.New("a message longer than 16 MiB")
)

func gor(in *bufio.Reader, f parse.Line) Decoder { return &gorDecoder{in: in, filler: f} }

// isGor accepts the first line of a message: 1 to 3, an id in hexadecimal digits, and one or two numbers.
func isGor(first []byte) bool {
	words := bytes.Fields(first)
	if len(words) < 3 || len(words) > 4 || len(words[0]) != 1 || words[0][0] < '1' || words[0][0] > '3' || len(words[1]) < 16 {
		return false
	}
	for _, c := range words[1] {
		if parse.HexOf([]byte{c}) < 0 {
			return false
		}
	}
	return len(words[2]) == 19 && parse.Digits(words[2]) > 0
}

// Place is the first line of the last message.
func (d *gorDecoder) Place() (int, []byte) { return d.line, nil }

// Next implements Decoder.
func (d *gorDecoder) Next(rec *trace.Record) error {
	if d.ended {
		return io.EOF
	}
	if err := d.message(); err != nil {
		return err
	}
	head, message, ok := bytes.Cut(d.buf, []byte("\n"))
	words := bytes.Fields(head)
	if !ok || !isGor(head) {
		return errGor
	}
	if words[0][0] != '1' {
		return gorAnswer
	}
	d.filler.Begin(rec)
	if err := parse.Start(&d.filler, words[2]); err != nil {
		return err
	}
	return d.request(message)
}

// message reads up to the monkeys, or to the end.
func (d *gorDecoder) message() error {
	d.buf = d.buf[:0]
	long := false
	for {
		part, err := d.in.ReadSlice('\n')
		if err == nil || len(part) > 0 && err == io.EOF {
			d.n++
		}
		switch {
		case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
			d.ended = true
			return err
		case err == io.EOF && len(bytes.TrimSpace(part)) == 0 && len(bytes.TrimSpace(d.buf)) == 0:
			d.ended = true
			return io.EOF
		case string(bytes.TrimSpace(part)) == gorEnd:
			if long {
				return errLongGor
			}
			return nil
		case len(d.buf) == 0 && len(bytes.TrimSpace(part)) == 0:
			continue
		}
		if len(d.buf) == 0 {
			d.line = d.n
		}
		if long = long || len(d.buf)+len(part) > maxGor; !long {
			d.buf = append(d.buf, part...)
		}
		if err == io.EOF {
			d.ended = true
			if long {
				return errLongGor
			}
			return nil
		}
	}
}

// request reads the request of a message.
func (d *gorDecoder) request(message []byte) error {
	f := &d.filler
	in := bufio.NewReader(bytes.NewReader(message))
	first, _, _ := bytes.Cut(message, []byte("\n"))
	if err := parse.Request(f, bytes.TrimRight(first, "\r")); err != nil {
		return err
	}
	req, err := http.ReadRequest(in)
	if err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	switch {
	case err != nil:
		return errors.New("the body of the request is cut short")
	case len(body) > maxBody:
		return errLongGor
	}
	r := f.Rec
	if len(r.Host) == 0 {
		r.Host = []byte(req.Host)
	}
	if r.RequestBytes = int64(len(body)); len(body) > 0 {
		r.Body = body
	}
	var list []harHeader
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		for _, v := range req.Header[name] {
			list = append(list, harHeader{name, v})
		}
	}
	header(f, list, "")
	return f.Finish(true)
}
