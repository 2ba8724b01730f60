package kept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/pkg/takt"
)

const (
	mostFollowed = 8                // runs that are followed at once
	followedFor  = 30 * time.Second // after the last question
)

// Going is a run of this store that goes on, or whose process has ended without a report.
type Going struct {
	Name   string       // of its journal
	Report *takt.Report // without figures
	Ended  bool         // its process has ended
}

// SoFar is what is known of such a run.
type SoFar struct {
	Report *takt.Report
	Ran    time.Duration // its length so far; 0: its first second is not over, and Report is nil
	Ended  bool          // its process has ended
}

// Watch reads the journals of runs that go on. It writes nothing, and the runs notice nothing. It is safe
// for concurrent use.
type Watch struct {
	waits   *spool.Spool
	address string // of the store

	mu       sync.Mutex
	followed map[string]*followed
}

// followed is a run that is followed: each second is read once.
type followed struct {
	mu    sync.Mutex
	file  *spool.Watched
	run   *engine.Following
	asked time.Time // protected by the lock of the Watch
}

// NewWatch watches the runs of this store.
func (s *Storing) NewWatch(env core.Env) (*Watch, error) {
	address, err := s.Address(env)
	if err != nil {
		return nil, err
	}
	waits, err := SpoolOf(env)
	return &Watch{waits: waits, address: address, followed: map[string]*followed{}}, err
}

// Going lists the runs, the newest first. It leaves out journals that it cannot read: the command that
// recovers them says why.
func (w *Watch) Going() (list []Going, err error) {
	names, err := w.waits.Journals()
	for _, name := range names {
		f, err := w.waits.Watch(name)
		if err != nil {
			continue
		}
		if head, err := readHead(f.Head); err == nil && head.Store == w.address {
			list = append([]Going{{name, &head.Run.Report, f.Ended()}}, list...)
		}
		_ = f.Close() // it was only read
	}
	return list, err
}

// SoFar is what the journal of that name has. The error is fs.ErrNotExist if there is no such journal.
func (w *Watch) SoFar(ctx context.Context, name string) (so SoFar, err error) {
	f, err := w.follow(name)
	if err != nil {
		return so, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil || f.file.Replaced() {
		if err := f.open(w, name); err != nil {
			w.forget(name)
			return so, err
		}
	}
	if err := f.read(ctx); err != nil {
		f.close()
		return so, err
	}
	so.Ended = f.file.Ended()
	if so.Report, so.Ran, err = f.run.SoFar(); so.Ran == 0 {
		so.Report = nil
	}
	return so, err
}

// follow is the run of a journal. It forgets runs for which nobody has asked for a while.
func (w *Watch) follow(name string) (*followed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for other, f := range w.followed {
		if other != name && now.Sub(f.asked) > followedFor && f.mu.TryLock() {
			f.close()
			f.mu.Unlock()
			delete(w.followed, other)
		}
	}
	f := w.followed[name]
	if f == nil && len(w.followed) >= mostFollowed {
		return nil, fmt.Errorf("%d other runs are being followed; close their pages, and try again in %v", mostFollowed, followedFor)
	}
	if f == nil {
		f = &followed{}
		w.followed[name] = f
	}
	f.asked = now
	return f, nil
}

func (w *Watch) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followed, name)
}

// open opens the journal at its first second.
func (f *followed) open(w *Watch, name string) error {
	f.close()
	file, err := w.waits.Watch(name)
	if err != nil {
		return err
	}
	head, err := readHead(file.Head)
	if err == nil && head.Store != w.address {
		err = fs.ErrNotExist // a run of another store
	}
	var run *engine.Following
	if err == nil {
		run, err = engine.Follow(head.Run)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.run = file, run
	return nil
}

// read reads what the journal has got.
func (f *followed) read(ctx context.Context) error {
	for ctx.Err() == nil {
		text, more := f.file.Next()
		if !more {
			return nil
		}
		var s engine.Second
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if err := f.run.Add(s); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (f *followed) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
	}
	f.file, f.run = nil, nil
}
