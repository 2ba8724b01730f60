package payload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/ring"
)

// order says which line of a file an operation gets.
type order string

// The orders of a file.
const (
	inTurn    order = ""          // line number Seq modulo the number of lines
	random    order = "random"    // any, by Seq and the seed
	once      order = "once"      // in turn, and the run ends with the last one
	exclusive order = "exclusive" // in turn among those that nobody else has
)

// header says that the first line of a file has the names of its fields.
const header = "header"

// feedUse is how the placeholders of a command use a file: all in the same way, so that they have the same line.
type feedUse struct {
	order order
	head  bool
}

// read reads what follows the field.
func (u *feedUse) read(tokens []token) error {
	for _, t := range tokens {
		o := order(t.text)
		switch {
		case t.quoted:
			return errArguments
		case t.text == header && !u.head:
			u.head = true
		case u.order == inTurn && slices.Contains([]order{random, once, exclusive}, o):
			u.order = o
		default:
			return errArguments
		}
	}
	return nil
}

// words are those that read read.
func (u feedUse) words() string {
	words := []string{}
	if u.head {
		words = append(words, header)
	}
	if u.order != inTurn {
		words = append(words, string(u.order))
	}
	return strings.Join(words, " ")
}

func (u feedUse) String() string { return cmp.Or(u.words(), "no word") }

// makeFeed makes the part for {{file "PATH" FIELD WORDS}}.
func makeFeed(p *parser, args []token) (part, error) {
	if len(args) < 1 || !args[0].quoted || args[0].text == "" {
		return nil, errArguments
	}
	path, field, words := args[0].text, int64(0), args[1:]
	if len(words) > 0 {
		if n, err := words[0].int(); err == nil {
			if n < 1 || n > maxBytes {
				return nil, errArguments
			}
			field, words = n, words[1:]
		}
	}
	var use feedUse
	if err := use.read(words); err != nil {
		return nil, err
	}
	if err := p.env.use(path, use); err != nil {
		return nil, err
	}
	lines, err := p.env.lines(path, int(field))
	if err != nil {
		return nil, err
	}
	f := feed{lines}
	switch use.order {
	case random:
		return drawnFeed{f, newDraw(p.env.Seed, "file "+path, 0)}, nil
	case once:
		if n := uint64(lines.Len()); p.env.limit == 0 || n < p.env.limit {
			p.env.limit = n
		}
	case exclusive:
		return lentFeed{f, p.env.lease(path, lines.Len())}, nil
	}
	return f, nil
}

// use notes how a file is used.
func (e *Env) use(path string, use feedUse) error {
	switch {
	case use.order == once && !e.Ends:
		return fmt.Errorf("the word once ends the run with the last line, and here a run does not end so; leave it out")
	case use.order == exclusive && !e.Lends:
		return fmt.Errorf("the word exclusive lends a line to the user of a scenario until its round is over, and this is none; leave it out, or write the steps for takt http --scenario")
	}
	if before, is := e.uses[path]; is && before != use {
		return fmt.Errorf("the file is used with %s here and with %s before; write the same words for it in every placeholder", use, before)
	}
	if e.uses == nil {
		e.uses = map[string]feedUse{}
	}
	e.uses[path] = use
	return nil
}

// Limit is the number of operations for which there are lines of all files that are used once; 0: no limit.
func (e *Env) Limit() uint64 { return e.limit }

// File is how a command uses a file.
type File struct {
	Path  string
	Lines int    // with values
	Use   string // words of the placeholders, such as header random; "": lines in turn
}

// Files are those that the placeholders read, in the order of their names.
func (e *Env) Files() (list []File) {
	for _, path := range slices.Sorted(maps.Keys(e.uses)) {
		if l := e.files[feeder{path, 0}]; l != nil {
			list = append(list, File{path, l.Len(), e.uses[path].words()})
		}
	}
	return list
}

// Leases are those of the files whose lines are lent.
func (e *Env) Leases() []*Lease { return e.leases }

// lease is the lease of a file with n lines.
func (e *Env) lease(path string, n int) *Lease {
	for _, l := range e.leases {
		if l.name == path {
			return l
		}
	}
	l := &Lease{name: path, n: uint64(n), parts: 1}
	e.leases = append(e.leases, l)
	return l
}

// feed is {{file "…"}} with and without a field.
type feed struct{ lines *Lines }

func (f feed) append(dst []byte, seq uint64) []byte { return append(dst, f.lines.At(seq)...) }
func (f feed) longest() int                         { return f.lines.longest }
func (f feed) of() *Lines                           { return f.lines }

// drawnFeed is a feed whose lines come at random. All of one file draw the same.
type drawnFeed struct {
	feed
	draw
}

func (f drawnFeed) append(dst []byte, seq uint64) []byte {
	high, low := f.at(seq)
	return f.feed.append(dst, below(uint64(f.lines.Len()), high, low))
}

// lentFeed is a feed whose lines are lent, see Template.Fill.
type lentFeed struct {
	feed
	lease *Lease
}

// Lease lends the lines of a file: nobody has a line that somebody else has. Lines that were not lent yet come
// first, in turn, and then that which came back first.
type Lease struct {
	name string
	n    uint64 // lines

	mu    sync.Mutex
	fresh uint64 // the next line that was not lent yet
	parts uint64 // processes that have a part of the lines each
	back  ring.Queue[uint64]
}

// Begin takes all lines back. Of n processes this one is number k, from 0, and lends every n-th line.
func (l *Lease) Begin(k, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh, l.parts, l.back = k, max(1, n), ring.Queue[uint64]{}
}

// Name is that of the file.
func (l *Lease) Name() string { return l.name }

// Len is the number of lines that process k of n lends.
func (l *Lease) Len(k, n uint64) uint64 {
	if n = max(1, n); l.n <= k {
		return 0
	}
	return (l.n-k-1)/n + 1
}

// Take lends a line, unless all are lent.
func (l *Lease) Take() (line uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.fresh < l.n:
		line = l.fresh
		l.fresh += l.parts
	case l.back.Len() > 0:
		line = l.back.Pop()
	default:
		return 0, false
	}
	return line, true
}

// Give takes a line back.
func (l *Lease) Give(line uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back.Push(line)
}
