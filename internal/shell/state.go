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
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/sandbox"
)

// state is what outlives the server, in files that only takt's user can read: each user's
// definitions, history and last choices, and the jobs that were not done.
type state struct {
	dir   string // "": nothing is saved
	mu    sync.Mutex
	users map[string]*user
	lock  *os.File  // of the jobs; nil: none
	jobs  savedJobs // of an earlier server
	// shared: another server uses the folder, so the jobs of this one are not saved.
	shared bool

	docker    string           // the container engine, as in DOCKER_HOST
	variables []string         // environment variables that servers under test see besides the usual ones
	box       *sandbox.Sandbox // of checkouts; nil: none
	usable    func(urls ...string) error
}

func openState(dir string) (*state, error) {
	s := &state{dir: dir, users: map[string]*user{}, usable: func(...string) error { return nil }}
	if dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the folder for definitions: %w; set XDG_STATE_HOME to another one", err)
	}
	return s, s.openJobs()
}

// openJobs reads the jobs of an earlier server, unless that server still runs: two servers must
// not run the same jobs.
func (s *state) openJobs() (err error) {
	if s.lock, err = os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		s.shared, err = lockFile(s.lock)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(s.dir, jobsFolder), 0o700)
	}
	switch {
	case err != nil:
		s.close()
		return fmt.Errorf("cannot use the folder for jobs: %w; set XDG_STATE_HOME to another one", err)
	case s.shared:
		s.close()
		return nil
	}
	if err := s.read(jobsFile, &s.jobs); err != nil {
		s.close()
		return err
	}
	outfile.Sweep(s.dir) // of a server that was killed while it wrote
	outfile.Sweep(filepath.Join(s.dir, jobsFolder))
	return nil
}

// close lets another server use the jobs.
func (s *state) close() {
	if s.lock != nil {
		_ = s.lock.Close() // loses nothing
		s.lock = nil
	}
}

// output is the folder of the jobs' output; "": it is not saved.
func (s *state) output() string {
	if s.lock == nil {
		return ""
	}
	return filepath.Join(s.dir, jobsFolder)
}

// saveJobs saves all jobs.
func (s *state) saveJobs(jobs savedJobs) error {
	if s.lock == nil {
		return nil
	}
	return s.write(jobsFile, jobs)
}

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
	return replaceFile(filepath.Join(s.dir, name), append(b, '\n'))
}

// replaceFile writes a whole file of the state.
func replaceFile(path string, content []byte) error {
	if err := outfile.Replace(path, content); err != nil {
		return err
	}
	_ = outfile.SyncFolder(filepath.Dir(path)) // not every system can; without it, a power failure may bring the old content back
	return nil
}

// user is one user, with everything that all sessions of the user share.
type user struct {
	name    string
	state   *state
	mu      sync.Mutex
	kept    kept
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
