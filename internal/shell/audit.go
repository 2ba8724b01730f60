package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/value"
)

// audit appends to the file of who did what. When the file was renamed or removed, as
// logrotate does, audit creates a new one.
type audit struct {
	path string
	mu   sync.Mutex
	file *os.File
	left int         // refused sessions without a line so far
	late *time.Timer // writes their number; nil: there are none
}

// leftOutTime is how long the number of refused sessions without a line waits for another line.
const leftOutTime = time.Minute

// leaveOut counts a refused session that gets no line.
func (a *audit) leaveOut() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left++
	if a.late == nil {
		a.late = time.AfterFunc(leftOutTime, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			_ = a.count() // the next line tries again
		})
	}
}

// count writes the number of refused sessions without a line. The caller holds mu.
func (a *audit) count() error {
	if a.left == 0 {
		return nil
	}
	a.late.Stop()
	a.late = nil
	err := a.append(record{Time: time.Now().UTC(), Event: eventSession, Outcome: fmt.Sprintf("refused: %d more, for reasons of lines above", a.left)})
	if err == nil {
		a.left = 0
	}
	return err
}

// record is a line of the audit log, without secrets.
type record struct {
	Time    time.Time `json:"time"`
	Session int64     `json:"session"`
	User    string    `json:"user,omitempty"`
	Role    door.Role `json:"role,omitempty"`
	From    string    `json:"from,omitempty"`
	Event   string    `json:"event"`
	Job     int       `json:"job,omitempty"`
	Command string    `json:"command,omitempty"`
	Outcome string    `json:"outcome"`
}

// The events of the audit log.
const (
	eventSession = "session" // a session began, ended or was refused
	eventCommand = "command" // a command was allowed, refused or failed
	eventJob     = "job"     // a job began or ended
)

// maxAudited bounds a text of the audit log, in bytes.
const maxAudited = 2000

func openAudit(path string) (*audit, error) {
	if path == "" {
		return nil, nil
	}
	files.Trust(path) // the owner named it
	a := &audit{path: path}
	if err := a.open(); err != nil {
		return nil, fmt.Errorf("the audit log cannot be written: %w; check --audit-log", err)
	}
	return a, nil
}

func (a *audit) open() (err error) {
	a.file, err = outfile.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return err
}

// write adds a line.
func (a *audit) write(r record) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.count(); err != nil {
		return err
	}
	return a.append(r)
}

func (a *audit) append(r record) error {
	r.Command, r.Outcome = shortened(r.Command), shortened(r.Outcome)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := a.follow(); err != nil {
		return err
	}
	_, err = a.file.Write(append(line, '\n'))
	return err
}

// follow opens the path again if the open file was renamed, removed or replaced.
func (a *audit) follow() error {
	there, err := os.Stat(a.path)
	mine, broken := a.file.Stat()
	if err == nil && broken == nil && os.SameFile(there, mine) {
		return nil
	}
	old := a.file
	if err := a.open(); err != nil {
		a.file = old
		return err
	}
	_ = old.Close() // an error loses nothing: every line was written whole
	return nil
}

func (a *audit) close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.count() // as in note, a loss stops nothing that reads
	return a.file.Close()
}

func shortened(text string) string {
	if len(text) <= maxAudited {
		return text
	}
	return fmt.Sprintf("%s… and %d bytes more", strings.ToValidUTF8(text[:maxAudited], ""), len(text)-maxAudited)
}

// note writes an event of this session and its outcome. job is 0 outside of jobs.
func (c *session) note(event string, job int, command, outcome string) error {
	return c.noteAs(c.role, event, job, command, outcome)
}

// noteAs is note for other goroutines, which may not read the role: reload can change it.
func (c *session) noteAs(as door.Role, event string, job int, command, outcome string) error {
	r := record{Time: time.Now().UTC(), Session: c.number, Role: as, From: c.from, Event: event, Job: job, Command: command, Outcome: outcome}
	switch {
	case c.user != nil:
		r.User = c.user.name
	case c.server.tokenList() != nil:
		r.Role = "" // the session has not sent its token yet
	}
	return c.server.audit.write(r)
}

// allow logs a command before it runs. While the log cannot be written, only harmless
// commands may run: those that change nothing, and cancel.
func (c *session) allow(a action) error {
	if err := c.note(eventCommand, 0, a.shown, "allowed"); err != nil && !a.harmless {
		return errors.New("the server cannot write its audit log, so it refuses this command; tell its owner")
	}
	return nil
}

// refuse logs a line that does not run. A line that takt did not understand may contain a
// secret, so the log gets only the names of its commands, that a flag is unknown, and why takt cannot read it as words.
func (c *session) refuse(names []string, err error) {
	otherwise := "refused: not understood"
	switch why := unreadable(""); {
	case errors.As(err, &why):
		otherwise += ": " + why.Error()
	case errors.Is(err, value.ErrUnknownFlag):
		otherwise = "refused: " + value.ErrUnknownFlag.Error()
	}
	_ = c.note(eventCommand, 0, strings.Join(names, " ; "), outcomeOf(err, otherwise)) // may fail: the line does not run
}

// outcomeOf is how a command ended with an error: refused, or otherwise.
func outcomeOf(err error, otherwise string) string {
	all := denials(err)
	if len(all) == 0 {
		return otherwise
	}
	return "refused: " + strings.Join(all, "; ")
}

// denials are the texts of the Denied in an error, or of the opener's refusal.
func denials(err error) []string {
	texts := deniedIn(err)
	if refusal := files.Named(err); refusal != nil && len(texts) == 0 {
		texts = []string{refusal.Error()}
	}
	return texts
}

func deniedIn(err error) (texts []string) {
	switch e := err.(type) {
	case Denied:
		return []string{string(e)}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			texts = append(texts, deniedIn(one)...)
		}
	case interface{ Unwrap() error }:
		return deniedIn(e.Unwrap())
	}
	return texts
}
