// Package functions compares profiles of two servers: how much CPU time of a request each function has.
package functions

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// Run is the CPU profile of one run of a server.
type Run struct {
	Requests float64          // operations that ended
	Nanos    map[string]int64 // own CPU time of each function, by Own
	Stacks   Stacks           // the same time by stack
	Counted  bool             // the times are numbers of samples, whose time is not known; see Spread

	pathOf func(file string) (path string, ok bool) // the path in the checkout, if it is a file of the server
	places map[string]place                         // of functions in files of the commit, by name
}

// NewRun is the profile of a run without samples so far. pathOf returns the path in the checkout of a file that a
// profiler names, if the file is one of the server's, not of a library; nil: none is.
func NewRun(pathOf func(file string) (path string, ok bool)) *Run {
	known := map[string]string{} // "": not one of the server's
	return &Run{Nanos: map[string]int64{}, places: map[string]place{}, pathOf: func(file string) (string, bool) {
		at, ok := known[file]
		if !ok && pathOf != nil {
			if path, yes := pathOf(file); yes {
				at = path
			}
			known[file] = at
		}
		return at, at != ""
	}}
}

// errNoCPU is the error of a profile of something else, such as allocations.
var errNoCPU = errors.New("the profile has no CPU time; take a CPU profile, such as /debug/pprof/profile of Go")

// Add adds the samples of a profile: in pprof's format, folded stacks, or V8's .cpuprofile.
func (r *Run) Add(text []byte) error {
	text, err := unzipped(text)
	switch {
	case err != nil:
		return err
	case len(text) == 0:
		return errors.New("the profile is empty")
	case isV8(text):
		return r.addV8(text)
	case isText(text):
		return r.addFolded(string(text))
	}
	return r.addPprof(text)
}

// isText reports whether a profile is lines of text. In pprof's format the beginning has bytes below a space.
func isText(text []byte) bool {
	head := text[:min(len(text), 512)]
	return utf8.Valid(head[:bytes.LastIndexByte(head, '\n')+1]) && !bytes.ContainsFunc(head, func(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' })
}

// addPprof adds a profile in pprof's format. It may be of Go or of another runtime.
func (r *Run) addPprof(text []byte) error {
	p, err := profile.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return fmt.Errorf("the profile has neither pprof's format (%w) nor folded stacks nor a .cpuprofile", err)
	}
	cpu := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Unit == "nanoseconds" && t.Type == "cpu" })
	if cpu < 0 {
		return errNoCPU
	}
	other := len(p.Function) > 0 && !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return f.Filename == "" || strings.HasSuffix(f.Filename, ".go") })
	for _, s := range p.Sample {
		stack := stackOf(s)
		if other {
			r.addFrames(stack, s.Value[cpu])
			continue
		}
		names := make([]string, len(stack))
		for i, f := range stack {
			names[i] = f.name
		}
		r.add(names, s.Value[cpu])
	}
	return nil
}

// add adds the CPU time of a stack of Go, the innermost function first.
func (r *Run) add(stack []string, nanos int64) { r.addTo(Own(stack), stack, nanos) }

// addFrames adds the time of a stack of another runtime, the innermost frame first.
func (r *Run) addFrames(stack []frame, nanos int64) {
	name, at := r.ownerOf(stack)
	if at.path != "" {
		r.places[name] = place{at.path, r.places[name].over(at.span)}
	}
	names := make([]string, len(stack))
	for i, f := range stack {
		names[i] = r.shown(f)
	}
	r.addTo(name, names, nanos)
}

// addTo adds the time of a stack to a function.
func (r *Run) addTo(owner string, stack []string, nanos int64) {
	r.Nanos[owner] += nanos
	if len(stack) == 0 {
		stack = []string{unknown}
	}
	r.Stacks.add(stack, 0, float64(nanos))
}

// Total is the time of all functions.
func (r *Run) Total() time.Duration {
	total := time.Duration(0)
	for _, ns := range r.Nanos {
		total += time.Duration(ns)
	}
	return total
}

// Spread gives samples without times their share of the CPU time that the server used.
func (r *Run) Spread(cpu time.Duration) {
	each := float64(cpu) / max(1, float64(r.Total()))
	for name, n := range r.Nanos {
		r.Nanos[name] = int64(math.Round(float64(n) * each))
	}
	for i := range r.Stacks.Frames {
		r.Stacks.Frames[i].Own[0] *= each
	}
	r.Counted = false
}

// Foreign reports whether a profile has no function of the commit, though its functions have files: it is then likely
// that of another process.
func (r *Run) Foreign() bool {
	for name := range r.Nanos {
		if !strings.HasPrefix(name, outsideFile) && !strings.HasPrefix(name, "(") {
			return false
		}
	}
	return len(r.Nanos) > 0
}

// MostProfile bounds a profile, also after decompression, in bytes: one of a large server has a few MiB.
const MostProfile = 64 << 20

// unzipped is a profile without gzip.
func unzipped(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(z, MostProfile+1))
	if err == nil && len(text) > MostProfile {
		err = fmt.Errorf("the profile has more than %d MiB after decompression; take a shorter one (-z)", MostProfile>>20)
	}
	return text, err
}

// stackOf are the frames of a sample, the innermost first.
func stackOf(s *profile.Sample) (stack []frame) {
	lines := 0
	for _, l := range s.Location {
		for _, line := range l.Line { // several: inlined calls
			if lines++; lines > deepest {
				return append(stack, frame{name: cutOff})
			}
			if f := line.Function; f != nil {
				at := span{int(f.StartLine), int(f.StartLine)}
				stack = append(stack, frame{f.Name, f.Filename, at.over(span{int(line.Line), int(line.Line)})})
			}
		}
	}
	return stack
}

// unknown is the function of a stack without names.
const unknown = "unknown"

// Own is the function to which the time of a stack belongs, the innermost first: the innermost one that is not of the
// standard library, since a function also answers for what it calls there. If there is none, it is the package of the
// innermost one, such as "package runtime". Each stack belongs to one function, so the times add up.
func Own(stack []string) string {
	for _, name := range stack {
		if path := packageOf(name); path == "main" || strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
			return whole(name)
		}
	}
	if len(stack) == 0 {
		return unknown
	}
	return "package " + packageOf(stack[0])
}

// packageOf is the path of the package in the name of a function, such as example.com/a/b.(*T).f.
func packageOf(name string) string {
	slash := strings.LastIndexByte(strings.SplitN(name, "[", 2)[0], '/') + 1 // types of generics have paths, too
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return name
	}
	return name[:slash+dot]
}

// closure is what follows the name of a function in that of a function within it.
var closure = regexp.MustCompile(`(\.(func|gowrap|deferwrap)[0-9]+|-range[0-9]+)(\..*)?$`)

// whole is the function that a closure belongs to: main.work for main.work.func1.2.
func whole(name string) string {
	if at := closure.FindStringIndex(name); at != nil {
		return name[:at[0]]
	}
	return name
}
