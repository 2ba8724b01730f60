package http

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// keepTargets bounds the requests of a file that are kept in memory, in bytes on
// the wire. Of a longer file they are read while the run goes.
const keepTargets = 64 << 20

// targetList is a file of requests that are sent in turn.
type targetList struct {
	o       *Options
	name    string
	kept    []*fixed // nil: the requests come with the operations
	first   *fixed
	count   int    // 0: not known
	sum     string // SHA-256 of the file; "": not known
	oneHost bool   // all have one scheme and host
	file    *os.File
}

var errNoTargets = errors.New("no target in it; write 'GET http://127.0.0.1:8080/' in it, or one JSON object a line")

// buildTargets reads the whole file once: a fault in its last line should not
// show after an hour. What comes from stdin can only be read as it comes.
func (o *Options) buildTargets() []error {
	for _, text := range []string{o.target, string(o.body), o.Header.text()} {
		if strings.Contains(text, placeholder) {
			return []error{errors.New("placeholders and --targets are both given; keep one, targets are sent as they stand in their file")}
		}
	}
	l := &targetList{o: o, name: o.Targets, oneHost: o.url != nil}
	o.list, o.requests = l, l
	if o.Targets == stdin {
		return nil
	}
	return appendError(nil, l.survey())
}

// survey reads the file to its end.
func (l *targetList) survey() error {
	f, err := os.Open(l.name)
	if err != nil {
		return fmt.Errorf("cannot read the targets: %w; check --targets", err)
	}
	defer f.Close()
	sum := sha256.New()
	r := newTargetReader(l.o, l.name, io.TeeReader(f, sum))
	size := 0
	l.oneHost = true
	for {
		t, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if l.first == nil {
			l.first = t
		}
		l.count++
		l.oneHost = l.oneHost && sameHost(t, l.first)
		if size += len(t.bytes.Bytes); size <= l.o.keep {
			l.kept = append(l.kept, t)
		} else {
			l.kept = nil
		}
	}
	if l.count == 0 {
		return fmt.Errorf("%s: %w", l.name, errNoTargets)
	}
	l.sum = hex.EncodeToString(sum.Sum(nil))
	return nil
}

func sameHost(a, b *fixed) bool {
	return a.msg.url.Scheme == b.msg.url.Scheme && a.msg.url.Host == b.msg.url.Host
}

// of is the request of op: by its number, so that it does not depend on who sends
// it, or what came with it.
func (l *targetList) of(op *takt.Op) *fixed {
	if l.kept != nil {
		return l.kept[op.Seq%uint64(len(l.kept))]
	}
	return op.Data.(*fixed)
}

// Append implements http1.Requests.
func (l *targetList) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	return l.of(op).Append(dst, op)
}

func (l *targetList) message(op *takt.Op) (*message, error) { return l.of(op).msg, nil }

func (l *targetList) describe(v map[string]any) {
	v["targets"] = l.name
	if l.count > 0 {
		v["targets_count"], v["targets_sha256"] = l.count, l.sum
	}
	if u := l.base(); u != nil && l.oneHost {
		v["scheme"], v["host"] = u.Scheme, u.Host
	}
}

// Source gives each operation its target where these are read while the run goes.
// In any other case src stays as it is.
func (o *Options) Source(src takt.Source) (takt.Source, error) {
	l := o.list
	if l == nil || l.kept != nil {
		return src, nil
	}
	s := &targetSource{Source: src, list: l}
	if err := s.open(); err != nil {
		return nil, err
	}
	if c, ok := src.(takt.Counter); ok && l.name != stdin {
		return &countedTargets{s, c}, nil
	}
	return s, nil
}

// targetSource reads targets in the order of the operations. A file begins anew
// at its end; the end of stdin is the end of the run.
type targetSource struct {
	takt.Source
	list   *targetList
	reader *targetReader
	ahead  *fixed // read already
	taken  uint64
	err    error
}

// countedTargets are those of a file, which never end before the schedule.
type countedTargets struct {
	*targetSource
	counter takt.Counter
}

// DueBefore implements takt.Counter.
func (c *countedTargets) DueBefore(t time.Duration) uint64 { return c.counter.DueBefore(t) }

// Next implements takt.Source. Of a shard's operations the targets between are
// read too, so that every number has the same target on every machine.
func (s *targetSource) Next(op *takt.Op) bool {
	if s.err != nil || !s.Source.Next(op) {
		return false
	}
	for s.taken <= op.Seq {
		t, err := s.next()
		if err != nil {
			s.err = err
			return false
		}
		s.taken++
		op.Data = t
	}
	return true
}

// Err is what ended the targets before the schedule; nil for the end of stdin.
func (s *targetSource) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

// EndedEarly reports whether the targets ended before the schedule did.
func (s *targetSource) EndedEarly() bool { return s.err != nil }

func (s *targetSource) next() (*fixed, error) {
	if t := s.ahead; t != nil {
		s.ahead = nil
		return t, nil
	}
	t, err := s.reader.next()
	if err == io.EOF && s.list.file != nil {
		if _, err := s.list.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		s.reader = newTargetReader(s.list.o, s.list.name, s.list.file)
		t, err = s.reader.next()
	}
	if err == nil && s.list.oneHost && !s.list.isHere(t) {
		return nil, fmt.Errorf("%s: %s is not on the host of the url; leave the url out for targets on several hosts", s.reader.where(), t.msg.url)
	}
	return t, err
}

// isHere reports whether t goes to the one host of the list.
func (l *targetList) isHere(t *fixed) bool {
	u := l.base()
	return u == nil || t.msg.url.Scheme == u.Scheme && t.msg.url.Host == u.Host
}

// base is where the targets go as far as that is known.
func (l *targetList) base() *url.URL {
	if l.first != nil {
		return l.first.msg.url
	}
	return l.o.url
}

// open begins to read; what stdin holds first is waited for.
func (s *targetSource) open() (err error) {
	l := s.list
	if l.name == stdin {
		s.reader = newTargetReader(l.o, "stdin", l.o.standardInput())
		s.ahead, err = s.next()
		if err == io.EOF {
			err = fmt.Errorf("stdin: %w", errNoTargets)
		}
		l.first = s.ahead
		return err
	}
	l.close()
	if l.file, err = os.Open(l.name); err != nil {
		return fmt.Errorf("cannot read the targets: %w; check --targets", err)
	}
	s.reader = newTargetReader(l.o, l.name, l.file)
	return nil
}

func (l *targetList) close() {
	if l != nil && l.file != nil {
		_ = l.file.Close() // it was only read
		l.file = nil
	}
}
