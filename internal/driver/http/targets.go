package http

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/value"
	"github.com/taktload/takt/pkg/takt"
)

// keepTargets bounds the requests of a file that are kept in memory, in bytes. Of a
// longer file they are read while the run goes.
const keepTargets = 64 << 20

// targetOverhead is what a target takes beside its bytes on the wire: 600 000 of
// 14 bytes took 440 MiB.
const targetOverhead = 700

// maxSecrets bounds the credentials of a list that are known by themselves. Others
// are known by the scheme before them only.
const maxSecrets = 1000

// targetList is a file of requests that are sent in turn.
type targetList struct {
	o       *Options
	name    string
	kept    []*httpreq.Fixed // nil: the requests come with the operations
	first   *httpreq.Fixed
	count   int             // 0: not known
	sum     string          // SHA-256 of the file; "": not known
	oneHost bool            // all have one scheme and host
	feed    *targetFeed     // of the run under way, when the targets are not kept
	secrets map[string]bool // of the targets, see maxSecrets
}

var errNoTargets = errors.New("no target in it; write URLs such as http://127.0.0.1:8080/ in it, METHOD URL, or one JSON object a line")

// buildTargets reads the whole file once: a fault in its last line should not
// show after an hour. What comes from stdin can only be read as it comes.
func (o *Options) buildTargets() (faults value.Faults) {
	for _, text := range []string{o.target, o.templateBody(), o.Header.Text("")} {
		if strings.Contains(text, httpreq.Placeholder) {
			return []error{value.Faultf("placeholders and --targets are both given; keep one, since takt sends targets unchanged")}
		}
	}
	l := &targetList{o: o, name: o.Targets, oneHost: o.url != nil, secrets: map[string]bool{}}
	o.list, o.requests = l, l
	if o.Targets == stdin {
		return nil
	}
	faults.Add(l.survey())
	return faults
}

// survey reads the file to its end.
func (l *targetList) survey() error {
	f, err := files.Open(l.name)
	if err != nil {
		return value.Faultf("cannot read the targets: %w; check --targets", err)
	}
	defer f.Close()
	sum := sha256.New()
	r := newTargetReader(l.o, l.name, io.TeeReader(f, sum))
	size := 0
	l.oneHost = true
	watch := l.o.attended.begin()
	for {
		if err := watch.look(l.name, l.count); err != nil {
			return err
		}
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
		l.oneHost = l.oneHost && httpreq.SameOrigin(t.Sends.URL, l.first.Sends.URL)
		l.noteSecrets(t)
		if size += len(t.Bytes) + targetOverhead; size <= l.o.keep {
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

// attended is whoever waits for Validate, and for @setup. The zero value is nobody.
type attended struct {
	stop <-chan struct{}
	tell func(text string)
}

// Attend is driver.Load.Attend.
func (o *Options) Attend(stop <-chan struct{}, tell func(text string)) {
	o.attended = attended{stop, tell}
}

// tellAfter is how long takt waits before it says so, and says it again. Tests set it.
var tellAfter = 3 * time.Second

// errStopped is the error of a check that a signal ended.
var errStopped = errors.New("the check of the list was stopped")

// waiting is work under way that may take long, such as the check of a long list.
type waiting struct {
	attended
	told time.Time
}

func (a attended) begin() *waiting { return &waiting{a, time.Now()} }

// lookEach is the number of targets between two looks at the clock.
const lookEach = 1000

// look is called for each target, of which there were n before. The error ends the check.
func (w *waiting) look(name string, n int) error {
	if n%lookEach != 0 {
		return nil
	}
	select {
	case <-w.stop: // nil: never
		return errStopped
	default:
	}
	w.say("checking %s: %d targets so far; the run begins when all are checked", name, n)
	return nil
}

// say tells what goes on, unless that was told just now.
func (w *waiting) say(format string, args ...any) {
	if w.tell != nil && time.Since(w.told) >= tellAfter {
		w.told = time.Now()
		w.tell(fmt.Sprintf(format, args...))
	}
}

func (l *targetList) noteSecrets(t *httpreq.Fixed) {
	header := httpreq.Header(t.Sends.Header)
	found := header.Secrets()
	if u := t.Sends.URL.User; u != nil {
		found = append(found, httpreq.SecretsOf(httpreq.BasicAuth(u))...)
	}
	for _, s := range found {
		if len(l.secrets) < maxSecrets {
			l.secrets[s] = true
		}
	}
}

// of is the request of op: by its number, so that it does not depend on who sends
// it, or what came with it.
func (l *targetList) of(op *takt.Op) *httpreq.Fixed {
	if l.kept != nil {
		return l.kept[op.Seq%uint64(len(l.kept))]
	}
	return op.Data.(*httpreq.Fixed)
}

// Append implements http1.Requests.
func (l *targetList) Append(dst []byte, op *takt.Op) (out []byte, head, last bool) {
	return l.of(op).Append(dst, op)
}

func (l *targetList) Message(op *takt.Op) (*httpreq.Message, error) { return l.of(op).Sends, nil }

func (l *targetList) Describe(v map[string]any) {
	v["targets"] = l.name
	if l.count > 0 {
		v["targets_count"], v["targets_sha256"] = l.count, l.sum
	}
	if u := l.base(); u != nil && l.oneHost {
		v["scheme"], v["host"] = u.Scheme, u.Host
	}
}

// base is where the targets go as far as that is known.
func (l *targetList) base() *url.URL {
	if l.first != nil {
		return l.first.Sends.URL
	}
	return l.o.url
}

func (l *targetList) close() {
	if l != nil && l.feed != nil {
		l.feed.stop()
		l.feed = nil
	}
}
