package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/taktload/takt/internal/apmserver"
)

// state is what outlives the server, in files that only takt's user can read: each user's
// definitions, history and last choices, and the jobs that were not done.
type state struct {
	dir   string // "": nothing is saved
	mu    sync.Mutex
	users map[string]*user
	lost  []string // commands of jobs that an earlier server left undone

	docker    string   // the container engine, as in DOCKER_HOST
	variables []string // environment variables that servers under test see besides the usual ones
	usable    func(urls ...string) error
}

// pendingFile lists the jobs that wait, run or were interrupted, without secrets.
const pendingFile = "pending.json"

func openState(dir string) (*state, error) {
	s := &state{dir: dir, users: map[string]*user{}, usable: func(...string) error { return nil }}
	if dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the folder for definitions: %w; set XDG_STATE_HOME to another one", err)
	}
	return s, s.read(pendingFile, &s.lost)
}

// interrupted are the commands of jobs that an earlier server left undone.
func (s *state) interrupted() []string { return s.lost }

// savePending saves the current jobs. It ignores errors: a full disk costs the list, no job.
func (s *state) savePending(jobs []string) { _ = s.write(pendingFile, jobs) }

// user returns a user, the same one for all of that user's sessions.
func (s *state) user(name string) (*user, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.users[name]; u != nil {
		return u, nil
	}
	u := &user{name: name, state: s, kept: kept{Definitions: map[string]string{}}}
	err := s.read(u.file(), &u.kept)
	s.users[name] = u
	if err == nil {
		err = u.restore(s)
	}
	return u, err
}

// read decodes a file into what, if the file exists.
func (s *state) read(name string, what any) error {
	if s.dir == "" {
		return nil
	}
	path := filepath.Join(s.dir, name)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, what)
	}
	if err != nil {
		return fmt.Errorf("cannot read the saved file %s: %w; repair or remove it", path, err)
	}
	return nil
}

// write replaces a whole file at once.
func (s *state) write(name string, what any) error {
	if s.dir == "" {
		return nil
	}
	b, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, name)
	f, err := os.CreateTemp(s.dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after a successful rename
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// user is one user, with everything that all sessions of the user share.
type user struct {
	name  string
	state *state
	mu    sync.Mutex
	kept  kept
	testbed testbed
}

// kept is the content of a user's file.
type kept struct {
	Definitions map[string]string `json:"definitions,omitempty"`
	History     []string          `json:"history,omitempty"` // the newest last
	Use         apmserver.Use     `json:"use"`
}

func (u *user) file() string { return "user-" + u.name + ".json" }

// change changes what is kept, and saves it.
func (u *user) change(do func(*kept)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	do(&u.kept)
	if err := u.state.write(u.file(), &u.kept); err != nil {
		return fmt.Errorf("the change lasts until the server ends, but cannot be saved: %w", err)
	}
	return nil
}

// definitions returns a copy of the user's definitions.
func (u *user) definitions() map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[string]string, len(u.kept.Definitions))
	for name, text := range u.kept.Definitions {
		all[name] = text
	}
	return all
}

// maxHistory limits the lines of a user's history.
const maxHistory = 500

// remember adds a line to the history that outlives the session.
func (u *user) remember(line string) error {
	return u.change(func(k *kept) { k.History = added(k.History, line) })
}

func (u *user) history() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.kept.History)
}

// added appends a line to a history, unless it repeats the last line.
func added(lines []string, line string) []string {
	if len(lines) > 0 && lines[len(lines)-1] == line {
		return lines
	}
	lines = append(lines, line)
	return lines[max(0, len(lines)-maxHistory):]
}

// history implements term.History with the lines that the session adds. Lines with secrets
// stay out.
type history struct{ lines []string }

// Add does nothing: the session adds a line itself, once it knows that it has no secret.
func (h *history) Add(string) {}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
