package trace

import (
	"context"
)

// Follow is Open for one log that is still being written. It uses the present content only
// to detect the format, or the first new lines if the file is empty. The caller stops the
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
	o = r.Rest(o)
	f, err := Follow(name)
	if err != nil {
		return nil, nil, err
	}
	live := &late{open: func() (*Reader, error) { return NewReader(name, f, o) }}
	l := &Log{}
	l.selection = Select(Section(live, g.From, g.For), g.Rules)
	l.rewritten = Rewrite(l.selection, g.Rewriting)
	l.Stream = l.rewritten
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
