package reader

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/pause"
)

// followEvery is how often a Follower looks whether its file has grown.
const followEvery = 20 * time.Millisecond

// Follower reads what is written to a file from now on, also after the file is emptied, or
// renamed and replaced by a new one.
type Follower struct {
	name string
	file *os.File
	at   int64
	quit chan struct{}
	stop func()
}

// follow begins at the end of the named file.
func follow(name string) (*Follower, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	at, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		_ = file.Close() // return the first error
		return nil, err
	}
	f := &Follower{name: name, file: file, at: at, quit: make(chan struct{})}
	f.stop = sync.OnceFunc(func() { close(f.quit) })
	return f, nil
}

// Stop makes Read return io.EOF.
func (f *Follower) Stop() { f.stop() }

// Read implements io.Reader. It waits until there is something to read.
func (f *Follower) Read(p []byte) (int, error) {
	for {
		n, err := f.file.Read(p)
		f.at += int64(n)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		if !pause.For(followEvery, f.quit) {
			_ = f.file.Close() // it was only read
			return 0, io.EOF
		}
		if err := f.turn(); err != nil {
			return 0, err
		}
	}
}

// turn goes to the beginning of a file that was emptied, or opens the new file that has
// replaced the old one.
func (f *Follower) turn() error {
	now, missing := files.Stat(f.name)
	old, err := f.file.Stat() // after the Stat of the new file: servers write to the old one until they open the new one
	if err != nil {
		return err
	}
	if old.Size() < f.at {
		f.at = 0
		_, err = f.file.Seek(0, io.SeekStart)
		return err
	}
	if missing != nil || os.SameFile(old, now) || now.Size() == 0 || old.Size() > f.at {
		return nil // there is no new file with content yet, or the old one is not read to its end
	}
	file, err := files.Open(f.name)
	if err != nil {
		return nil // Read tries again
	}
	_ = f.file.Close() // it was only read
	f.file, f.at = file, 0
	return nil
}
