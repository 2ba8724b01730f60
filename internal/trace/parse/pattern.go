package parse

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrPrefix is the fault of a line that has not the literals before the first variable.
	ErrPrefix = errors.New("the line does not begin as the format does")
	// ErrShape is the fault of a line that does not fit.
	ErrShape = errors.New("the line does not have the shape of the format")
)

// Pattern is the format of a line: literal text and values alternate.
type Pattern struct {
	prefix []byte
	values []slot
	timed  bool
	at     int  // index of the value that Parse last read; len(values): all of them
	typed  bool // the values before it include a time or a request
}

// slot is a value, which ends at the literal after it.
type slot struct {
	name    string // for people
	set     Setter // nil: the value is ignored
	literal []byte // the literal after the value; empty: the value is the rest of the line
	blanks  int    // number of blanks inside the value
	layout  string // of a time that the user's format composes: what is inside the value
	inside  int    // how often the first byte of literal is inside the value
	quoted  bool   // literal begins with ", and the value escapes quotes inside
	host    bool   // a host, which may be [::1] with colons
	beside  bool   // a path follows at once, and begins with /
	typed   bool   // a time or a request, which few texts are by chance
	last    bool   // literal may be missing at the end of the line
}

// theEnd is the name of what follows the format in a line.
const theEnd = "the end"

// Piece is a part of a format string: a literal or a variable.
type Piece struct {
	Literal string
	Name    string // name of the variable; "": a literal
	Variable
}

// Variable describes what a server writes for a name. The zero value is ignored.
type Variable struct {
	Set    Setter
	Blanks int // number of blanks inside the value
	Role   Role
	Layout string // layout of a time that the user's format composes
}

// Role is the role of a variable in the whole format.
type Role int

// The roles. Every format needs a RoleRequest, the value with the URI. A format with a RoleTime has
// a time in every line. A RoleHost may have colons inside brackets, and a RoleRequest at once after it.
const (
	RolePlain Role = iota
	RoleTime
	RoleRequest
	RoleHost
)

// Pieces cuts a format string into pieces. sign begins a variable, and item reads the one at the
// start of its text.
func Pieces(text string, sign byte, item func(text string) (pieces []Piece, rest string, err error)) ([]Piece, error) {
	var pieces []Piece
	for text != "" {
		if at := strings.IndexByte(text, sign); at != 0 {
			if at < 0 {
				at = len(text)
			}
			pieces, text = append(pieces, Piece{Literal: text[:at]}), text[at:]
			continue
		}
		more, rest, err := item(text)
		if err != nil {
			return nil, err
		}
		pieces, text = append(pieces, more...), rest
	}
	return pieces, nil
}

// NewPattern builds a pattern from pieces. The error lists all faults. Every line must have
// the literals before the first variable and after the last. A line may have more words at its
// end if tail is not nil, which gets them.
func NewPattern(pieces []Piece, tail Setter) (*Pattern, error) {
	p := &Pattern{}
	var errs []error
	request := false
	for i, at := range pieces {
		if at.Name == "" {
			p.addLiteral(at.Literal)
			continue
		}
		request = request || at.Role == RoleRequest
		if at.Role == RoleTime {
			p.timed, at.Set = true, finest(at.Set)
		}
		beside := i > 0 && pieces[i-1].Name != ""
		if beside && (pieces[i-1].Role != RoleHost || at.Role != RoleRequest) {
			errs = append(errs, fmt.Errorf("%s and %s are not separated, so nobody can tell where the first one ends; put a blank between them in the log", pieces[i-1].Name, at.Name))
		}
		if beside {
			p.values[len(p.values)-1].beside = true
		}
		p.values = append(p.values, slot{name: at.Name, set: at.Set, blanks: at.Blanks, layout: at.Layout, host: at.Role == RoleHost, typed: at.Role == RoleTime || at.Role == RoleRequest})
	}
	if !request {
		errs = append(errs, errors.New("the format has no request; it needs $request or $request_uri (nginx), %r or %U (Apache), {request}, {uri} or {path} (takt's own)"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if tail != nil {
		p.addTail(tail)
	}
	return p, nil
}

func (p *Pattern) addLiteral(text string) {
	if len(p.values) == 0 {
		p.prefix = append(p.prefix, text...)
		return
	}
	v := &p.values[len(p.values)-1]
	v.literal = append(v.literal, text...)
	if v.inside = 0; v.layout != "" {
		v.inside = strings.Count(v.layout, string(v.literal[:1]))
	} else if v.literal[0] == ' ' {
		v.inside = v.blanks
	}
	v.quoted = strings.HasPrefix(string(v.literal), `"`)
}

func (p *Pattern) addTail(set Setter) {
	last := &p.values[len(p.values)-1]
	if len(last.literal) == 0 {
		last.literal, last.last, last.inside = []byte(" "), true, last.blanks
	}
	p.values = append(p.values, slot{name: theEnd, set: set})
}

// Parse reads one line. It reads on behind a request that is none, so that Where says whether the rest fits.
func (p *Pattern) Parse(line []byte, f *Line) error {
	p.at, p.typed = 0, false
	if !bytes.HasPrefix(line, p.prefix) {
		return ErrPrefix
	}
	rest := line[len(p.prefix):]
	var none error // why the line has no request
	values := p.values
	for i := 0; i < len(values); i++ {
		v := &values[i]
		p.at = i
		n := v.end(rest)
		err := ErrShape
		if n >= 0 {
			behind := rest[min(n+len(v.literal), len(rest)):]
			if v.set == nil {
				rest = behind
				continue
			}
			if err = v.set(f, rest[:n]); err == nil {
				p.typed, rest = p.typed || v.typed, behind
				continue
			}
			if none == nil && IsNoRequest(err) {
				none, rest = err, behind
				continue
			}
		}
		text, behind, ok := p.bare(i, rest)
		if ok && v.set != nil {
			ok = v.set(f, text) == nil
		}
		if !ok {
			return cmp.Or(none, err)
		}
		rest = behind
		i++ // the value after it is the bare -
	}
	if len(rest) > 0 {
		return cmp.Or(none, ErrShape)
	}
	if p.at = len(p.values); none != nil {
		return none
	}
	return f.Finish(p.timed)
}

// bare cuts off value i where the value after it is a - without its quotes: Traefik 1 writes a missing header so.
// behind begins with the value after that.
func (p *Pattern) bare(i int, rest []byte) (text, behind []byte, ok bool) {
	if i+1 >= len(p.values) || !p.values[i+1].quoted {
		return nil, nil, false
	}
	before, opens := bytes.CutSuffix(p.values[i].literal, []byte(`"`))
	n := bytes.Index(rest, append(bytes.Clone(before), '-'))
	if !opens || len(before) == 0 || n < 0 {
		return nil, nil, false
	}
	behind, ok = bytes.CutPrefix(rest[n+len(before)+1:], p.values[i+1].literal[1:])
	return rest[:n], behind, ok
}

// Where names the value at which the last line did not fit, and says which share of the values
// before it did; half as much if that may be chance.
func (p *Pattern) Where() (field string, reached float64) {
	if p.at >= len(p.values) {
		return theEnd, 1
	}
	n := len(p.values)
	if p.values[n-1].name == theEnd {
		n--
	}
	if reached = float64(p.at) / float64(n); !p.typed {
		reached /= 2
	}
	return p.values[p.at].name, reached
}

// end is the length of the value at the start of rest, or -1 if its end is missing.
func (v *slot) end(rest []byte) int {
	if v.beside {
		return besideEnd(rest)
	}
	if len(v.literal) == 0 {
		return len(rest)
	}
	from := 0
	if v.host && len(rest) > 0 && rest[0] == '[' {
		from = bytes.IndexByte(rest, ']') + 1
	}
	for inside := v.inside; ; {
		n := bytes.IndexByte(rest[from:], v.literal[0])
		if n < 0 {
			return v.missing(rest)
		}
		n += from
		from = n + 1
		switch {
		case inside > 0:
			inside--
		case !bytes.HasPrefix(rest[n:], v.literal):
		case v.quoted && IsEscaped(rest, n):
		default:
			return n
		}
	}
}

// besideEnd is the length of a host with a path after it. Without a request nginx writes -
// instead of the path.
func besideEnd(rest []byte) int {
	n := bytes.IndexAny(rest, "/ \"")
	if n > 0 && rest[n] != '/' && rest[n-1] == '-' {
		return n - 1
	}
	return n
}

func (v *slot) missing(rest []byte) int {
	if v.last {
		return len(rest)
	}
	return -1
}

// finest prefers a time with a fraction to a later one without: nginx users add $msec to
// $time_local.
func finest(set Setter) Setter {
	return func(f *Line, v []byte) error {
		at, second, ended := f.Rec.At, f.Rec.Second, f.Rec.Ended
		err := set(f, v)
		if !at.IsZero() && !second && f.Rec.Second {
			f.Rec.At, f.Rec.Second, f.Rec.Ended = at, second, ended
		}
		return err
	}
}
