package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// audit is the file of who did what. It only grows. One that was renamed or removed,
// as logrotate does, is made anew.
type audit struct {
	path string
	mu   sync.Mutex
	file *os.File
}

// record is a line of the audit log, without secrets.
type record struct {
	Time    time.Time `json:"time"`
	Session int64     `json:"session"`
	User    string    `json:"user,omitempty"`
	Role    role      `json:"role,omitempty"`
	From    string    `json:"from,omitempty"`
	Event   string    `json:"event"`
	Job     int       `json:"job,omitempty"`
	Command string    `json:"command,omitempty"`
	Outcome string    `json:"outcome"`
}

// The events of the audit log.
const (
	eventSession = "session" // somebody came or was turned away
	eventCommand = "command" // somebody typed a command
	eventJob     = "job"     // a job began or ended
)

// maxAudited bounds a text of the audit log, in bytes.
const maxAudited = 2000

func openAudit(path string) (*audit, error) {
	if path == "" {
		return nil, nil
	}
	a := &audit{path: path}
	if err := a.open(); err != nil {
		return nil, fmt.Errorf("the audit log cannot be written: %w; check --audit-log", err)
	}
	return a, nil
}

func (a *audit) open() (err error) {
	a.file, err = os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return err
}

// write adds a line.
func (a *audit) write(r record) error {
	if a == nil {
		return nil
	}
	r.Command, r.Outcome = shortened(r.Command), shortened(r.Outcome)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.follow(); err != nil {
		return err
	}
	_, err = a.file.Write(append(line, '\n'))
	return err
}

// follow opens the file again if another one has its name, or none.
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
	_ = old.Close() // every line of it was written whole
	return nil
}

func (a *audit) close() error {
	if a == nil {
		return nil
	}
	return a.file.Close()
}

func shortened(text string) string {
	if len(text) <= maxAudited {
		return text
	}
	return fmt.Sprintf("%s… and %d bytes more", strings.ToValidUTF8(text[:maxAudited], ""), len(text)-maxAudited)
}

// note writes what came of something that this session did. job is 0 outside of jobs.
func (c *session) note(event string, job int, command, outcome string) error {
	r := record{Time: time.Now().UTC(), Session: c.number, Role: c.role, From: c.from, Event: event, Job: job, Command: command, Outcome: outcome}
	switch {
	case c.user != nil:
		r.User = c.user.name
	case c.server.tokens != nil:
		r.Role = "" // nobody yet
	}
	return c.server.audit.write(r)
}

// allow writes down a command that is about to be done. What changes nothing is done also
// while the log cannot be written, and so is cancel.
func (c *session) allow(a action) error {
	if err := c.note(eventCommand, 0, a.shown, "allowed"); err != nil && !a.harmless {
		return errors.New("the server cannot write its audit log, and does nothing that would not be in it; tell its owner")
	}
	return nil
}

// refuse writes down a line that was not done. Of what was not understood nobody knows
// whether a secret is in it, so only the names of commands are written.
func (c *session) refuse(names []string, err error) {
	outcome := "not understood"
	if all := denials(err); len(all) > 0 {
		outcome = "refused: " + strings.Join(all, "; ")
	}
	_ = c.note(eventCommand, 0, strings.Join(names, " ; "), outcome) // nothing is done that would have to be in it
}

// denials are the texts of the Denied in an error.
func denials(err error) (texts []string) {
	switch e := err.(type) {
	case Denied:
		return []string{string(e)}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			texts = append(texts, denials(one)...)
		}
	case interface{ Unwrap() error }:
		return denials(e.Unwrap())
	}
	return texts
}
