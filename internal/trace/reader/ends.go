package reader

import (
	"bytes"
	"slices"

	"github.com/taktload/takt/internal/trace/formats"
)

// Ends says what is wrong with a file as a file. Numbers of lines are 0 if there is nothing wrong.
type Ends struct {
	FirstBad int    // the first line, if it is bad: the log may have been cut before it
	Cut      int    // the last line, if it is bad and has no line end
	Damaged  int    // the last line of a compressed file that ends too early
	Holes    uint64 // lines with NUL bytes before them

	Tried  int            // bad lines that were tried with other formats, with Options.Inspect
	Others map[string]int // of these, the lines that fit another format, by its name
	Where  string         // the value at which the first bad line did not fit; "": not known
}

// maxTried limits the bad lines that are tried with other formats: a line costs 0.1 ms.
const maxTried = 100

// noteBad notes what a bad line says of the file.
func (r *Reader) noteBad(err error) {
	line, text := r.dec.Place()
	if err == errDamaged {
		r.ends.Damaged = line
		return
	}
	d, ok := r.dec.(*lineDecoder)
	if !ok {
		return
	}
	if p, ok := d.parser.(placed); ok && r.counts.Bad() == 0 && len(text) > 0 {
		r.ends.Where, _ = p.Where()
	}
	other := r.o.Inspect && !d.open && len(text) > 0 && r.ends.Tried < maxTried && r.tryOthers(slices.Clone(text))
	switch {
	case d.open && line > 1:
		r.ends.Cut = line
	case r.counts.Lines == 0 && !other && bytes.ContainsAny(text, "0123456789"): // without one it is a head line
		r.ends.FirstBad = line
	case r.counts.Lines == 1:
		r.ends.FirstBad = 0 // several bad lines are not one that was cut
	}
}

// tryOthers looks for the format of a bad line.
func (r *Reader) tryOthers(line []byte) bool {
	r.ends.Tried++
	for _, f := range formats.Table() {
		if f.Line == nil || f.Last || f.Name == r.format || !f.Looks(served(f, line)) {
			continue
		}
		if try(f, line, r.o, 1).fit == 1 {
			if r.ends.Others == nil {
				r.ends.Others = map[string]int{}
			}
			r.ends.Others[f.Name]++
			return true
		}
	}
	return false
}
