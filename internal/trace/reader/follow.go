package reader

import (
	"context"

	"github.com/taktload/takt/internal/trace"
)

// Follow is Open for one log that is still being written. It uses the present content only
// to detect the format, or the first new lines if the file is empty. The caller stops the
// Follower.
func (g *Settings) Follow(name string) (*Log, *Follower, error) {
	o := g.Options
	head := &Log{}
	defer head.Close()
	r, err := head.open(context.Background(), name, nil, o)
	if err != nil {
		return nil, nil, err
	}
	head.readers = []*Reader{r}
	o = r.more(o)
	f, err := follow(name)
	if err != nil {
		return nil, nil, err
	}
	live := &late{open: func() (*Reader, error) { return New(name, f, o) }}
	l := &Log{}
	l.choose(g, live)
	live.opened = func(r *Reader) { l.readers = []*Reader{r} }
	return l, f, nil
}

// late creates its Reader at the first Next, because that waits for the first bytes.
type late struct {
	open   func() (*Reader, error)
	opened func(*Reader)
	r      *Reader
}

// Next implements Stream.
func (l *late) Next(rec *trace.Record) (err error) {
	if l.r == nil {
		if l.r, err = l.open(); err != nil {
			return err
		}
		l.opened(l.r)
	}
	return l.r.Next(rec)
}
