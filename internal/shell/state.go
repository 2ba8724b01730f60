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

// state is what outlives the server, in a folder of files that only its user can read:
// for every user definitions, locations and history, and the jobs that were not done.
type state struct {
	dir   string // "": nothing outlives it
	mu    sync.Mutex
	users map[string]*user
	lost  []string

	docker    string   // the engine of containers, as in DOCKER_HOST
	variables []string // that servers under test see besides the plain ones
	usable    func(urls ...string) error
}

// pendingFile has the jobs that wait or run, without secrets.
const pendingFile = "pending.json"

func openState(dir string) (*state, error) {
	s := &state{dir: dir, users: map[string]*user{}, usable: func(...string) error { return nil }}
	if dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for definitions cannot be made: %w; set XDG_STATE_HOME to another one", err)
	}
	return s, s.read(pendingFile, &s.lost)
}

// interrupted are the jobs that an earlier server has left undone.
func (s *state) interrupted() []string { return s.lost }

// savePending notes the jobs of now. A disk that is full costs this list and no job.
func (s *state) savePending(jobs []string) { _ = s.write(pendingFile, jobs) }

// user gives what is kept of a user, the same for all sessions of theirs.
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

// read fills what from a file, if it is there.
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
		return fmt.Errorf("what was kept cannot be read: %s: %w; mend or remove the file", path, err)
	}
	return nil
}

// write replaces a file as a whole.
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
	defer os.Remove(f.Name()) // gone by then, if all went well
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// user is what is kept of one user.
type user struct {
	name  string
	state *state
	mu    sync.Mutex
	kept  kept
	bench bench
}

// kept is the content of a user's file.
type kept struct {
	Definitions map[string]string `json:"definitions,omitempty"`
	History     []string          `json:"history,omitempty"` // the newest last
	Use         apmserver.Use     `json:"use"`
}

func (u *user) file() string { return "user-" + u.name + ".json" }

// change changes what is kept and writes it down.
func (u *user) change(do func(*kept)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	do(&u.kept)
	if err := u.state.write(u.file(), &u.kept); err != nil {
		return fmt.Errorf("it holds until the server ends, but cannot be written down: %w", err)
	}
	return nil
}

// definitions are a copy of the user's.
func (u *user) definitions() map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make(map[string]string, len(u.kept.Definitions))
	for name, text := range u.kept.Definitions {
		all[name] = text
	}
	return all
}

// maxHistory bounds the lines that are kept of a user.
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

// added is a history with one more line, which is not repeated.
func added(lines []string, line string) []string {
	if len(lines) > 0 && lines[len(lines)-1] == line {
		return lines
	}
	lines = append(lines, line)
	return lines[max(0, len(lines)-maxHistory):]
}

// history implements term.History with the lines that the session decides to keep: a
// secret does not get into it.
type history struct{ lines []string }

// Add does nothing: the session adds a line when it knows what is in it.
func (h *history) Add(string) {}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
