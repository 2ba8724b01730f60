package functions

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// frame is a call on a stack, as a profiler names it.
type frame struct {
	name  string
	file  string // "": not known
	lines span   // of the function, as far as they are known
}

// span is the first and the last line of a function that a profile shows; 0: none.
type span struct{ first, last int }

// over is the span of both.
func (s span) over(o span) span {
	if s.first == 0 || o.first > 0 && o.first < s.first {
		s.first = o.first
	}
	s.last = max(s.last, o.last)
	return s
}

// place is where a function is: its path in the checkout and its lines.
type place struct {
	path string
	span
}

// How profilers of stacks write a frame with its file.
var (
	spyFrame = regexp.MustCompile(`^(.*) \(([^()]*\.\w*[a-zA-Z]\w*(?:\.\d+)*)(?::(\d+))?\)$`)       // work (server.py:12), of py-spy and rbspy; recv (libc.so.6)
	v8Frame  = regexp.MustCompile(`^(?:\w+:)?[*~^+]*(\S*) (node:\S+|\S+\.[cm]?[jt]sx?):(\d+):\d+$`) // LazyCompile:*work /a/server.js:12:3, of perf and node --perf-basic-prof
	pyFrame  = regexp.MustCompile(`^py::(.*):(.+\.py)$`)                                            // py::work:/a/server.py, of perf and python -X perf
)

// frameOf reads a frame of a folded stack.
func frameOf(text string) frame {
	for _, form := range []*regexp.Regexp{spyFrame, v8Frame, pyFrame} {
		m := form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		f := frame{name: m[1], file: m[2]}
		if len(m) > 3 {
			n, _ := strconv.Atoi(m[3]) // "" has no line
			f.lines = span{n, n}
		}
		return f
	}
	return frame{name: text}
}

// ownerOf is the function to which the time of a stack belongs, the innermost first: the innermost one in a file of
// the commit, since a function also answers for what it calls in libraries. Where no file is one of the commit's, it is
// the innermost one without a file that is none of a standard library or the kernel.
func (r *Run) ownerOf(stack []frame) (name string, at place) {
	for _, f := range stack {
		if p, ok := r.pathOf(f.file); ok {
			return inFile(f.name, p), place{p, f.lines}
		}
	}
	for _, f := range stack {
		if f.file == "" && !fromLibrary(f.name) {
			return unmarked(f.name), place{}
		}
	}
	if len(stack) == 0 {
		return unknown, place{}
	}
	return outside(stack[0]), place{}
}

// inFile is the name of a function with its file. Those without a name are one function in each file: by their lines
// they would be other ones in each commit.
func inFile(name, file string) string {
	if name == "" {
		name = "(anonymous)"
	}
	return name + " (" + file + ")"
}

// shown is the name of a frame in the stacks, without its line, which differs between commits.
func (r *Run) shown(f frame) string {
	if p, ok := r.pathOf(f.file); ok {
		return inFile(f.name, p)
	}
	if f.file != "" {
		return inFile(f.name, short(f.file))
	}
	return unmarked(f.name)
}

// short is the end of the path of a library's file.
func short(file string) string { return path.Join(path.Base(path.Dir(file)), path.Base(file)) }

// outsideFile begins the name of a file that is not one of the commit.
const outsideFile = "file "

// outside is what the time of a stack without a function of the commit is called.
func outside(f frame) string {
	if f.file != "" {
		return outsideFile + short(f.file)
	}
	if strings.HasSuffix(f.name, "_[k]") {
		return "kernel"
	}
	return unmarked(f.name)
}

// unmarked is a name without the mark of its kind, such as _[j], which profilers of Java and perf's scripts append.
func unmarked(name string) string {
	if at := len(name) - len("_[k]"); at > 0 && name[at:at+2] == "_[" && name[len(name)-1] == ']' {
		return name[:at]
	}
	return name
}

// libraries are how the names of functions of standard libraries begin: Java's, Kotlin's, Scala's, Rust's, C++'s.
var libraries = strings.Fields(`java/ java. javax/ javax. jdk/ jdk. sun/ sun. com/sun/ com.sun. kotlin/ kotlin. scala/ scala.
	std:: core:: alloc:: __libc_ __GI_ 0x [ (`)

// fromLibrary reports whether a name without a file is one of a standard library, of the kernel, or none.
func fromLibrary(name string) bool {
	if strings.HasSuffix(name, "_[k]") {
		return true
	}
	name = strings.TrimLeft(name, "<&")
	for _, l := range libraries {
		if strings.HasPrefix(name, l) {
			return true
		}
	}
	return false
}
