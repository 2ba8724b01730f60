package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/store/spool"
	"github.com/taktload/takt/pkg/takt"
)

const (
	journalVersion = 1
	journalRoom    = 16       // seconds that wait for the disk
	journalSync    = 10       // seconds that a power failure costs at most
	journalRetry   = 10       // seconds from a fault to the next try
	journalMost    = 64 << 20 // bytes from which on it is written anew
	journalEnd     = 2 * time.Second
)

// journalHead is the first record of a journal. The others are one engine.Second each.
type journalHead struct {
	Version int              `json:"journal_version"`
	Store   string           `json:"store"` // that the run is for, as in spool.Waiting
	Run     engine.Beginning `json:"run"`
}

// journal writes what a run has counted, beside the spool. It implements engine.Journal. A
// goroutine of its own writes: a disk that is full or hangs costs the run no time.
type journal struct {
	waits    *spool.Spool
	store    string
	complete func(*takt.Report) // adds to a report what only the command knows
	warn     func(error)

	seconds chan engine.Second
	done    chan struct{} // closed when all is written; nil: not begun
	said    sync.Once     // the first fault
	failed  atomic.Bool   // something was not written
	long    atomic.Bool   // the file is to be written anew

	// Of the engine's goroutine. After a second that is missing no other is written, until
	// one comes with all before it.
	missing bool
	since   int // seconds
}

// journal is that of a run whose report begins with head; nil if the run is not kept, or
// there is no home, which is said when the run is to be stored.
func (l *load) journal(head takt.Report, number int) *journal {
	waits, err := spoolOf(l.env)
	if l.noStore || err != nil {
		return nil
	}
	address, err := l.store.address(l.env)
	if err != nil {
		return nil
	}
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
	text, err := json.Marshal(journalHead{journalVersion, j.store, b})
	if err != nil { // of plain values: cannot be
		j.warn(err)
		return
	}
	j.done = make(chan struct{})
	go func() {
		defer close(j.done)
		(&journalFile{journal: j, id: b.Report.ID, head: text}).write()
	}()
}

// WantsAll implements engine.Journal. After a fault that is not at once: on a disk that
// stays full it would be work for nothing.
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

// end removes the journal of a run whose report was stored, or never will be. One that a
// disk keeps busy stays, and whoever finds it sees that the run is in the store.
func (j *journal) end() {
	if j == nil || j.done == nil {
		return
	}
	close(j.seconds)
	ctx, cancel := context.WithTimeout(context.Background(), journalEnd)
	defer cancel()
	_ = patient(ctx, func() error { <-j.done; return nil })
}

// journalFile is the file of a journal, for the goroutine that writes it.
type journalFile struct {
	*journal
	id       string
	head     []byte
	file     *spool.Journal // nil: it could not be made yet
	gap      bool           // a record that does not begin anew would not follow
	most     int64          // bytes from which on it is written anew
	unsynced int            // seconds
}

// write writes the seconds as they come, and removes the file behind the last.
func (f *journalFile) write() {
	var err error
	if f.file, err = f.waits.Begin(f.id, f.head); errors.Is(err, errors.ErrUnsupported) {
		for range f.seconds { // nobody could tell that its process has ended
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

// note says the first fault, after which all is to be written anew.
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

// anew writes a second that has all before it in the place of everything.
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
