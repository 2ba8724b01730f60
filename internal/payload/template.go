package payload

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/taktload/takt/internal/files"
)

// Env is what the templates of one command have in common. Its zero value can be
// used. Parse is not safe for concurrent use, the templates are.
type Env struct {
	// Seed is that of all random values. Generators that split one schedule have the
	// same, as their operations have different numbers; others need different ones.
	Seed uint64
	// Open opens a feeder by the path that stands in the template; nil: files.Open,
	// for which a relative path starts at the working directory.
	Open func(path string) (io.ReadCloser, error)
	// Values are names of values that are known only when an operation begins: {{NAME}} is a
	// placeholder for Template.Fill.
	Values []string
	// Traces are the trace ids of the run; nil: there are none, and {{traceparent}} is a fault.
	Traces *Traces
	// Run is the id of the run; nil: there is none, and {{.Run}} is a fault.
	Run    *Run
	Ends   bool              // a file can end the run, see Limit
	Lends  bool              // lines can be lent, see Leases
	files  map[feeder]*Lines // read so far
	uses   map[string]feedUse
	limit  uint64
	leases []*Lease
}

// feeder is what Lines are asked for by.
type feeder struct {
	path  string
	field int // 0: whole lines
}

// lines reads a feeder, unless another placeholder has done so.
func (e *Env) lines(path string, field int) (*Lines, error) {
	if l := e.files[feeder{path, field}]; l != nil {
		return l, nil
	}
	l, err := e.read(path, field)
	if err != nil {
		return nil, err
	}
	if e.files == nil {
		e.files = map[feeder]*Lines{}
	}
	e.files[feeder{path, field}] = l
	return l, nil
}

func (e *Env) read(path string, field int) (*Lines, error) {
	if field > 0 {
		whole, err := e.lines(path, 0)
		if err != nil {
			return nil, err
		}
		return whole.column(field)
	}
	f, err := e.open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the feeder: %w; check the path, a relative one starts at the working directory", err)
	}
	defer f.Close()
	return readValues(path, f, e.uses[path].head)
}

func (e *Env) open(path string) (io.ReadCloser, error) {
	if e.Open != nil {
		return e.Open(path)
	}
	return files.Open(path)
}

// Template is a text with placeholders. It is only read, so it is safe for
// concurrent use.
type Template struct {
	parts   []part
	longest int // bytes
}

// ErrUnknown is within the error of a placeholder that does not exist.
var ErrUnknown = errors.New("unknown placeholder")

// Parse takes a text apart and reads the feeders in it. The name, as "URL" or
// "header X-Id", stands in errors, and random values depend on it: templates of
// one command need different ones. All faults are reported at once;
// after 10 reading stops.
func (e *Env) Parse(name, text string) (*Template, error) {
	p := parser{env: e, name: name}
	p.run(text)
	t := &Template{parts: p.parts}
	if err := errors.Join(p.faults...); err != nil {
		return nil, err
	}
	for _, part := range t.parts {
		if t.longest += part.longest(); t.longest > maxBytes {
			return nil, fmt.Errorf("%s: can become longer than %d bytes; shorten it, or the lines of its feeders", name, maxBytes)
		}
	}
	return t, nil
}

// Literal is a template of text alone: two braces in it begin nothing.
func Literal(text string) *Template {
	return &Template{parts: []part{literal(text)}, longest: len(text)}
}

// Join is the text of all templates, one behind the other.
func Join(list ...*Template) *Template {
	whole := new(Template)
	for _, t := range list {
		whole.parts, whole.longest = append(whole.parts, t.parts...), whole.longest+t.longest
	}
	return whole
}

// EncodeURL is t with all that it appends encoded as by {{url …}}.
func (t *Template) EncodeURL() *Template {
	whole := new(Template)
	for _, p := range t.parts {
		if text, is := p.(literal); is {
			p = literal(appendURL(nil, []byte(text)))
		} else {
			p = encoded{p, urlEncoder}
		}
		whole.parts, whole.longest = append(whole.parts, p), whole.longest+p.longest()
	}
	return whole
}

// Fixed reports whether there is no placeholder: Append always appends the same.
func (t *Template) Fixed() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool { _, text := p.(literal); return !text })
}

// Random reports whether what is appended depends on Env.Seed.
func (t *Template) Random() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		_, draws := plainPart(p).(interface{ at(uint64) (uint64, uint64) })
		return draws
	})
}

// MaxLen is how many bytes Append adds at most, not more than maxBytes.
func (t *Template) MaxLen() int { return t.longest }

// Append appends the text of operation seq to dst. It allocates nothing if dst
// has room for MaxLen more bytes.
func (t *Template) Append(dst []byte, seq uint64) []byte {
	for _, p := range t.parts {
		dst = p.append(dst, seq)
	}
	return dst
}

// Check hands every line of every feeder of t to ok, encoded as t appends it, and returns for each feeder
// the first error, with the file and the line. What else t appends is its own
// text, letters, digits, and the characters - : and . of uuid, numbers and now.
func (t *Template) Check(ok func(line []byte) error) error {
	var faults []error
	for _, f := range t.feeds() {
		var b []byte
		faults = append(faults, f.lines.check(func(line []byte) error {
			b = encodeAs(f.part, append(b[:0], line...), 0)
			return ok(b)
		}))
	}
	return errors.Join(faults...)
}

// feeding is a part that appends lines, encoded.
type feeding struct {
	part
	lines *Lines
}

// feeds are the feeders of t, each once for each way in which it is encoded.
func (t *Template) feeds() (list []feeding) {
	for _, p := range t.parts {
		f, is := plainPart(p).(interface{ of() *Lines })
		if one := (feeding{p, nil}); is {
			if one.lines = f.of(); !slices.Contains(list, one) {
				list = append(list, one)
			}
		}
	}
	return list
}

// Count is how many lines of a feeder of t, which are appended as they are, odd is true for, and the name of the
// feeder; 0: of none. It looks at the first feeder with such a line.
func (t *Template) Count(odd func(line []byte) bool) (n int, name string) {
	for _, f := range t.feeds() {
		if _, is := f.part.(encoded); is {
			continue
		}
		for i := range f.lines.Len() {
			if odd(f.lines.At(uint64(i))) {
				n++
			}
		}
		if n > 0 {
			return n, f.lines.name
		}
	}
	return 0, ""
}
