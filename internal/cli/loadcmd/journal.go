package loadcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/pkg/takt"
)

const (
	journalRoom  = 16              // most seconds of a run that wait for the disk
	journalSync  = 10              // seconds between syncs, lost at most in a power failure
	journalRetry = 10              // seconds from a fault to the next attempt
	journalMost  = 64 << 20        // size in bytes above which the file is rewritten
	journalEnd   = 2 * time.Second // most time to wait for the disk after the run
)

// journal writes what a run has counted into a file of the spool. It implements engine.Journal.
// A separate goroutine writes, so a full or hanging disk does not delay the run.
type journal struct {
	waits    *spool.Spool
	store    string
	complete func(*takt.Report) // adds to a report what only the command knows
	warn     func(error)

	seconds chan engine.Second
	done    chan struct{} // closed when everything is written; nil: not begun
	said    sync.Once     // reports only the first fault
	failed  atomic.Bool   // a record was not written
	long    atomic.Bool   // the file is too long and must be rewritten

	// Used by the engine's goroutine only. After a missing second, no other is written until a
	// second comes that includes all before it.
	missing bool
	since   int // seconds since the first missing one
}

// journal returns the journal of a run whose report begins with head; nil: the run is not
// stored, or there is no home directory.
func (l *load) journal(head takt.Report, number int) *journal {
	waits, err := kept.SpoolOf(l.env)
	if l.noStore || err != nil {
		return nil
	}
	address, err := l.store.Address(l.env)
	if err != nil {
		return nil
	}
	head.Variables = maps.Clone(head.Variables) // complete adds to them
	return &journal{
		waits: waits, store: address,
		complete: func(r *takt.Report) {
			r.SchemaVersion, r.WarmupS = head.SchemaVersion, head.WarmupS
			l.complete(r, head, number)
		},
		warn: func(err error) {
			fmt.Fprintf(l.env.Stderr, "takt: warning: the journal of the run cannot be written: %v; if takt is killed, the run is lost from here on\n", err)
		},
		seconds: make(chan engine.Second, journalRoom),
	}
}

// Begin implements engine.Journal.
func (j *journal) Begin(b engine.Beginning) {
	j.complete(&b.Report)
	text, err := json.Marshal(kept.JournalHead{Version: kept.JournalVersion, Store: j.store, Run: b})
	if err != nil { // cannot happen with plain values
		j.warn(err)
		return
	}
	j.done = make(chan struct{})
	go func() {
		defer close(j.done)
		(&journalFile{journal: j, id: b.Report.ID, head: text}).write()
	}()
}

// WantsAll implements engine.Journal. After a fault it waits journalRetry seconds, because the
// work would be wasted on a disk that stays full.
func (j *journal) WantsAll() bool {
	if j.failed.Swap(false) {
		j.missing = true
	}
	switch {
	case j.long.Swap(false):
		return true
	case !j.missing:
		j.since = 0
		return false
	}
	j.since++
	return j.since%journalRetry == 0
}

// Second implements engine.Journal.
func (j *journal) Second(s engine.Second) {
	if j.missing && s.All == nil {
		return
	}
	select {
	case j.seconds <- s:
		j.missing = false
	default:
		j.missing = true
		j.say(fmt.Errorf("the disk does not answer for %d s", journalRoom))
	}
}

func (j *journal) say(err error) { j.said.Do(func() { j.warn(err) }) }

// end removes the journal of a run whose report was stored, or never will be. If the disk hangs,
// the file stays; takt removes it later when it sees that the run is stored.
func (j *journal) end() {
	if j == nil || j.done == nil {
		return
	}
	close(j.seconds)
	ctx, cancel := context.WithTimeout(context.Background(), journalEnd)
	defer cancel()
	_ = kept.Patient(ctx, func() error { <-j.done; return nil })
}

// journalFile is the file of a journal, used by the goroutine that writes it.
type journalFile struct {
	*journal
	id       string
	head     []byte
	file     *spool.Journal // nil: the file could not be created yet
	gap      bool           // records are missing, so the next one written must include all before it
	most     int64          // size in bytes above which the file is rewritten
	unsynced int            // seconds written since the last sync
}

// write writes the seconds as they come, and removes the file after the last one.
func (f *journalFile) write() {
	var err error
	if f.file, err = f.waits.Begin(f.id, f.head); errors.Is(err, errors.ErrUnsupported) {
		for range f.seconds { // without file locks, takt could not tell later that this process ended
		}
		return
	}
	f.most = journalMost
	f.note(err)
	for s := range f.seconds {
		f.note(f.second(s))
	}
	if f.file != nil {
		f.note(f.file.Remove())
	}
}

// note reports the first fault. After any fault, the whole file must be rewritten.
func (f *journalFile) note(err error) {
	if err != nil {
		f.gap = true
		f.failed.Store(true)
		f.say(err)
	}
}

func (f *journalFile) second(s engine.Second) error {
	if f.gap && s.All == nil {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if s.All != nil {
		return f.anew(text)
	}
	if err := f.file.Append(text); err != nil {
		return err
	}
	if f.file.Size() > f.most {
		f.long.Store(true)
	}
	if f.unsynced++; f.unsynced < journalSync {
		return nil
	}
	f.unsynced = 0
	return f.file.Sync()
}

// anew replaces the content of the file by one second that includes all before it.
func (f *journalFile) anew(text []byte) (err error) {
	if f.file == nil {
		f.file, err = f.waits.Begin(f.id, f.head)
	}
	if err == nil {
		err = f.file.Replace(text)
	}
	if err == nil {
		f.gap, f.unsynced, f.most = false, 0, max(journalMost, 2*f.file.Size())
	}
	return err
}
