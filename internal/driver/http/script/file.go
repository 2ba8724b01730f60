// Package script is what the file of a scenario says: steps with their checks, values and rules, in journeys. It reads the file
// whole, finds its faults, and says it in words. It sends nothing and knows no flags: Given has what it needs of them.
package script

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/journey"
	"github.com/taktload/takt/internal/payload"
	"github.com/taktload/takt/internal/session"
	"github.com/taktload/takt/internal/value"
)

// maxSteps limits the steps of a scenario.
const maxSteps = 1000

// scenarioReader reads a scenario: targets in vegeta's http format, with the lines @capture, @think,
// @name and @body.
type scenarioReader struct {
	Given
	hosts httpreq.Hosts // so far
	env   *payload.Env
	lines *bufio.Scanner
	name  string
	line  int
	again bool           // the current line has not been used
	lists []string       // of env.Values, those that are captured lists
	names map[string]int // lines of the @name lines
	heads []head         // of all steps
	phases
}

// at puts the place into an error.
func (r *scenarioReader) at(line int, err error) error {
	return fmt.Errorf("%s:%d: %w", r.name, line, err)
}

// File is what a scenario's file says.
type File struct {
	Name    string
	Sum     string
	Steps   []*Step       // of all journeys
	Hosts   httpreq.Hosts // that of the url argument first
	Tracks  []*Track
	Reacts  bool   // answers decide which steps a round has, so a schedule is one of rounds
	Limit   uint64 // number of rounds for which files have lines; 0: no limit
	Leases  []*payload.Lease
	Draws   bool     // a capture takes any of several values
	Lasts   bool     // users last over their rounds, since they perform steps once
	Lasting []string // the values that last, too
	Before  Track    // steps with @setup
	After   Track    // steps with @teardown
	files   []payload.File
}

// Given is what the command line says beside a file.
type Given struct {
	Home    *url.URL // the url argument; nil: each step says its server
	Seed    uint64
	Run     *payload.Run
	Closed  bool                                                                                            // there is no schedule
	Users   bool                                                                                            // users perform rounds one after the other
	Compose func(method string, u *url.URL, target string, own []http1.Field, body []byte) *httpreq.Message // completes a request by the flags
	See     func(target *payload.Template)                                                                  // looks at each
}

// round is the round of a user. journey.User.Self implements it.
type round interface {
	Value(name string) []byte        // nil: the round has none
	Fill(t *payload.Template) string // a value that the round does not have is empty
	Did(at *Step) bool               // whether the user has performed a step with @once
}

// ReadSteps reads a scenario. name is that of its file, beside which are those that it names.
func ReadSteps(name string, from io.Reader, g Given) (*File, error) {
	sum := sha256.New()
	r := &scenarioReader{Given: g, name: name, names: map[string]int{}, phases: newPhases(), lines: bufio.NewScanner(files.Text(io.TeeReader(from, sum)))}
	r.env = r.envOf(setUp)
	r.lines.Buffer(nil, httpreq.MaxLine)
	if g.Home != nil {
		r.hosts = httpreq.Hosts{g.Home}
	}
	s := &File{Name: name}
	for number := 1; ; number++ {
		at, err := r.step(number)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.add(at, g.Users); number > maxSteps {
			return nil, fmt.Errorf("%s: more than %d steps; a long list of independent requests is for --targets", r.name, maxSteps)
		}
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, r.at(r.line+1, fmt.Errorf("the line is longer than %d MiB; write the body into a file: @FILE", httpreq.MaxLine>>20))
	case err != nil:
		return nil, value.Faultf("cannot read the scenario: %w; check --scenario", err)
	}
	if len(s.Steps) == 0 {
		return nil, fmt.Errorf("%s: no step in it that users perform; a step begins with METHOD URL such as POST /login, and its header and @ lines follow", r.name)
	}
	if err := r.checkHeads(); err != nil {
		return nil, err
	}
	s.Sum, s.Hosts = hex.EncodeToString(sum.Sum(nil)), r.hosts
	if err := s.buildTracks(r.all, g.Users); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	rounds := r.envOf(inRounds)
	s.Limit, s.Leases, s.files = rounds.Limit(), rounds.Leases(), append(r.files, r.env.Files()...)
	s.Draws = slices.ContainsFunc(s.all(), func(at *Step) bool { return slices.ContainsFunc(at.Captures, session.Capture.Draws) })
	return s, nil
}

// next is the next line without blanks around it, comments left out; false at the end.
func (r *scenarioReader) next() (string, bool) {
	for r.again || r.lines.Err() == nil && r.lines.Scan() { // after an error Scan goes on with the rest of the line
		if !r.again {
			r.line++
		}
		r.again = false
		text := strings.TrimSpace(r.lines.Text())
		if !strings.HasPrefix(text, "#") {
			return text, true
		}
	}
	return "", false
}

// step reads the next step; io.EOF after the last one.
func (r *scenarioReader) step(number int) (*Step, error) {
	text, more := r.next()
	for more && text == "" {
		text, more = r.next()
	}
	for more && number == 1 && r.takeHead(text) {
		for text, more = r.next(); more && text == ""; {
			text, more = r.next()
		}
	}
	if !more {
		return nil, io.EOF
	}
	method, at, ok := startOfStep(text)
	if !ok {
		if looksLikeBody(text) {
			return nil, r.at(r.line, errBodyLines)
		}
		if _, _, header := strings.Cut(text, ": "); number > 1 && (header || strings.HasPrefix(text, "@")) {
			return nil, r.at(r.line, errors.New("a blank line before it ended the step that this line is about; remove the blank line"))
		}
		return nil, r.at(r.line, fmt.Errorf("%s does not begin a step; write %s", httpreq.Beginning(text), stepLike(text)))
	}
	s := &Step{Name: fmt.Sprintf("%s %s", method, value.HidePassword(at)), Line: r.line}
	where := &lines{file: r.name, start: r.line, header: map[string]int{}}
	var header []http1.Field
	var body []byte
	for {
		text, more := r.next()
		if !more || text == "" {
			break
		}
		if _, _, ok := startOfStep(text); ok {
			r.again = true
			break
		}
		var err error
		if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "@") {
			body, err = s.directive(word, strings.TrimSpace(rest), text, body, where, r.line)
		} else if looksLikeBody(text) {
			err = errBodyLines
		} else if name, v, ok := strings.Cut(text, ":"); ok {
			header = append(header, http1.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(v)})
			where.header[header[len(header)-1].Name] = r.line
		} else {
			err = fmt.Errorf("%s is neither a header nor @FILE nor the next step", httpreq.Beginning(text))
		}
		if err != nil {
			return nil, r.at(r.line, err)
		}
	}
	if err := s.rules.check(); err != nil {
		return nil, r.at(where.start, err)
	}
	first, err := r.enter(s)
	if err != nil {
		return nil, err
	}
	switch first = first || s.journey != ""; {
	case first && s.phase == inRounds:
		if s.Rest = s.Think; s.repeat == (journey.Repeat{}) { // else it is the time before each further repetition, too
			s.Think = dist.Time{}
		}
	case first && where.think > 0:
		return nil, r.at(where.think, errors.New("@think before the first step of @setup or @teardown has no effect, nobody waits before it; put it at a later step, or leave it out"))
	}
	if other := r.names[s.Name]; other > 0 && where.name > 0 {
		return nil, r.at(where.name, fmt.Errorf("the step of line %d has the name %.60q, too; give each step a name of its own", other, s.Name))
	}
	if where.name > 0 {
		r.names[s.Name] = where.name
	}
	return s, r.finish(s, where, number, method, at, header, body)
}

// openNear opens a file that the scenario names.
func (r *scenarioReader) openNear(path string) (io.ReadCloser, error) {
	f, err := files.OpenRegular(near(r.name, path))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w, and it is not beside the scenario", err)
	}
	return f, err
}
