package trace

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// followEvery is how often a Follower looks whether its file has grown.
const followEvery = 20 * time.Millisecond

// Follower reads what is written to a file from now on, also when the file is moved
// away and a new one takes its place, or is emptied.
type Follower struct {
	name string
	file *os.File
	at   int64
	quit chan struct{}
	stop func()
}

// Follow begins at the end of the named file.
func Follow(name string) (*Follower, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	at, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		_ = file.Close() // the first error counts
		return nil, err
	}
	f := &Follower{name: name, file: file, at: at, quit: make(chan struct{})}
	f.stop = sync.OnceFunc(func() { close(f.quit) })
	return f, nil
}

// Stop makes Read return io.EOF.
func (f *Follower) Stop() { f.stop() }

// Read implements io.Reader: it waits until there is something.
func (f *Follower) Read(p []byte) (int, error) {
	for {
		n, err := f.file.Read(p)
		f.at += int64(n)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		select {
		case <-f.quit:
			_ = f.file.Close() // it was only read
			return 0, io.EOF
		case <-time.After(followEvery):
		}
		if err := f.turn(); err != nil {
			return 0, err
		}
	}
}

// turn goes over to the file that has taken the place of the one that is read, and to
// the beginning of one that was emptied.
func (f *Follower) turn() error {
	now, missing := os.Stat(f.name)
	old, err := f.file.Stat() // after the new one: servers write to the old one until they open that
	if err != nil {
		return err
	}
	if old.Size() < f.at {
		f.at = 0
		_, err = f.file.Seek(0, io.SeekStart)
		return err
	}
	if missing != nil || os.SameFile(old, now) || now.Size() == 0 || old.Size() > f.at {
		return nil // nothing was written to a new one yet, or the old one is not read to its end
	}
	file, err := os.Open(f.name)
	if err != nil {
		return nil // it will be tried again
	}
	_ = f.file.Close() // it was only read
	f.file, f.at = file, 0
	return nil
}

// Follow is Open for one log that is still written: of what it has already only the
// format is taken; that of an empty file shows when lines come. The caller stops the
// Follower.
func (g *Reading) Follow(name string) (*Log, *Follower, error) {
	o := g.Options
	head := &Log{}
	defer head.Close()
	r, err := head.open(context.Background(), name, nil, o)
	if err != nil {
		return nil, nil, err
	}
	head.readers = []*Reader{r}
	if r.Format() != nothing {
		o.Format, o.guessed, o.columns = r.Format(), r.guessed, r.columns
	}
	f, err := Follow(name)
	if err != nil {
		return nil, nil, err
	}
	live := &late{open: func() (*Reader, error) { return NewReader(name, f, o) }}
	l := &Log{}
	l.selection = Select(Part(live, g.From, g.For), g.Rules)
	l.rewritten = Rewrite(l.selection, g.Rewriting)
	l.Stream = l.rewritten
	live.opened = func(r *Reader) { l.readers = []*Reader{r} }
	return l, f, nil
}

// late is a Reader that is made when it is needed, since that waits for the first bytes.
type late struct {
	open   func() (*Reader, error)
	opened func(*Reader)
	r      *Reader
}

// Next implements Stream.
func (l *late) Next(rec *Record) (err error) {
	if l.r == nil {
		if l.r, err = l.open(); err != nil {
			return err
		}
		l.opened(l.r)
	}
	return l.r.Next(rec)
}

// Selected says what the rules did with the requests.
func (l *Log) Selected() Selected { return l.selection.Counts() }

// Removed counts the token parameters that were removed.
func (l *Log) Removed() uint64 { return l.rewritten.Removed() }
