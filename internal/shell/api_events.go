package shell

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/taktload/takt/internal/live"
)

// event is a line of GET /v1/jobs/ID/events.
type event struct {
	Event  eventKind    `json:"event"`
	Job    *view        `json:"job,omitempty"`    // state
	At     *int64       `json:"at,omitempty"`     // output: position of text in the whole output
	Text   string       `json:"text,omitempty"`   // output
	Bytes  int64        `json:"bytes,omitempty"`  // missed
	Second *live.Second `json:"second,omitempty"` // second
}

type eventKind string

const (
	eventState  eventKind = "state"  // the job is in another state, or begins another run
	eventOutput eventKind = "output" // the job wrote text
	eventMissed eventKind = "missed" // output that takt no longer has
	eventSecond eventKind = "second" // a second of a run
)

// eventEvery is the time between two looks at the seconds of a run.
const eventEvery = 200 * time.Millisecond

// events writes what happens to a job until the job ends.
type events struct {
	session *session
	job     *job
	w       http.ResponseWriter
	encoder *json.Encoder
	at      int64 // position in the output
	second  int   // position in the seconds
	last    view  // as it was written last
	broken  bool  // the client does not read
}

func serveEvents(c *session, w http.ResponseWriter, r *request) {
	at, err := position(r.URL.Query().Get("from"))
	if err != nil {
		problemOf(http.StatusBadRequest, err).write(w)
		return
	}
	j := c.named(w, r, "attach "+strconv.Itoa(r.id))
	if j == nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	e := &events{session: c, job: j, w: w, encoder: json.NewEncoder(w), at: min(at, j.log.end())}
	e.encoder.SetEscapeHTML(false)
	e.follow()
}

// position reads a position in a job's output.
func position(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil || at < 0 {
		return 0, errors.New("from is not a position of an event output; leave it out, or use at plus the length of the text")
	}
	return at, nil
}

// follow writes until the end of the job, of the client or of the server.
func (e *events) follow() {
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	for !e.broken {
		e.state()
		e.seconds()
		p := e.output()
		switch {
		case p.ended:
			e.state()
			return
		case len(p.text) > 0:
			continue
		}
		select {
		case <-p.more:
		case <-tick.C:
			if !e.session.refresh() {
				return
			}
		case <-e.session.ctx.Done():
			return
		}
	}
}

// write writes an event, and sends it at once.
func (e *events) write(one event) {
	if e.broken {
		return
	}
	patient(e.w)
	err := e.encoder.Encode(one)
	if err == nil {
		err = http.NewResponseController(e.w).Flush()
	}
	e.broken = err != nil
}

// state writes the job, if it has changed.
func (e *events) state() {
	if v := e.session.server.queue.view(e.job); !reflect.DeepEqual(v, e.last) {
		e.last = v
		e.write(event{Event: eventState, Job: &v})
	}
}

func (e *events) seconds() {
	all, next := e.job.log.live.Since(e.second)
	e.second = next
	for i := range all {
		e.write(event{Event: eventSecond, Second: &all[i]})
	}
}

// output writes the next piece of the output, up to its last whole character.
func (e *events) output() piece {
	p := e.job.log.read(e.at)
	if p.skipped > 0 {
		e.write(event{Event: eventMissed, Bytes: p.skipped})
	}
	at := p.next - int64(len(p.text))
	if !p.ended {
		p.text = p.text[:whole(p.text)]
	}
	if len(p.text) > 0 {
		e.write(event{Event: eventOutput, At: &at, Text: string(p.text)})
	}
	e.at = at + int64(len(p.text))
	return p
}

// whole is the length of a text without a character at its end that is not complete.
func whole(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax, len(text)); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return len(text) - n
			}
			break
		}
	}
	return len(text)
}
