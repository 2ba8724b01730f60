package http

import (
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// The classes of net/http's client.
const (
	ClassProtocol = classProtocol
	ClassRequest  = classRequest

	ClassRefusedStream = classRefusedStream
)

// KeepTargets lets tests stream a small file.
func (o *Options) KeepTargets(bytes int) { o.keep = bytes }

// NoteHey notes what hey reports.
func NoteHey(r *takt.Report, text string) error {
	found, err := readHey([]byte(text))
	if err == nil {
		noteHey(r, found)
	}
	return err
}

// TellAfter lets a check of a list say so after d, until the test ends.
func TellAfter(t *testing.T, d time.Duration) {
	before := tellAfter
	tellAfter = d
	t.Cleanup(func() { tellAfter = before })
}

// IdleFor lets connections of net/http wait for so long, until undo.
func IdleFor(d time.Duration) (undo func()) {
	before := idleTimeout
	idleTimeout = d
	return func() { idleTimeout = before }
}

// Cell is one of the table of flags.
type Cell struct {
	Flag, Of, Way             string // Of: the case of the flag
	Refused, Without, Differs string
}

// WayNames are the columns of the table.
var WayNames = [ways]string{"loop", "worker", "net", "h2", "hey"}

// Cells is the table of flags, row by row.
func Cells() (all []Cell) {
	for _, e := range effects() {
		for w, name := range WayNames {
			w := way(w)
			all = append(all, Cell{e.flag, e.of, name, e.refused[w], e.without[w], e.differs[w]})
		}
	}
	return all
}
