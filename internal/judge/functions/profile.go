// Package functions compares profiles of two servers: how much CPU time of a request each function has.
package functions

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
)

// Run is the CPU profile of one run of a server.
type Run struct {
	Requests float64          // operations that ended
	Nanos    map[string]int64 // own CPU time of each function, by Own
	Stacks   Stacks           // the same time by stack
}

// NewRun is the profile of a run without samples so far.
func NewRun() *Run { return &Run{Nanos: map[string]int64{}} }

// errNoCPU is the error of a profile of something else, such as allocations.
var errNoCPU = errors.New("the profile has no CPU time; give the URL of a CPU profile, such as /debug/pprof/profile")

// Add adds the samples of a profile in pprof's format.
func (r *Run) Add(text []byte) error {
	text, err := unzipped(text)
	if err != nil {
		return err
	}
	p, err := profile.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return fmt.Errorf("this is no profile in pprof's format: %w", err)
	}
	cpu := -1
	for i, t := range p.SampleType {
		if t.Unit == "nanoseconds" && t.Type == "cpu" {
			cpu = i
		}
	}
	if cpu < 0 {
		return errNoCPU
	}
	for _, s := range p.Sample {
		r.add(stackOf(s), s.Value[cpu])
	}
	return nil
}

// add adds the CPU time of a stack, the innermost function first.
func (r *Run) add(stack []string, nanos int64) {
	r.Nanos[Own(stack)] += nanos
	if len(stack) == 0 {
		stack = []string{unknown}
	}
	r.Stacks.add(stack, 0, float64(nanos))
}

// mostProfile bounds a profile after decompression, in bytes: one of a large server has a few MiB.
const mostProfile = 64 << 20

// unzipped is a profile without gzip.
func unzipped(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(z, mostProfile+1))
	if err == nil && len(text) > mostProfile {
		err = fmt.Errorf("the profile has more than %d MiB after decompression; take a shorter one (-z)", mostProfile>>20)
	}
	return text, err
}

// stackOf are the functions of a sample, the innermost first.
func stackOf(s *profile.Sample) (names []string) {
	lines := 0
	for _, l := range s.Location {
		for _, line := range l.Line { // several: inlined calls
			if lines++; lines > deepest {
				return append(names, cutOff)
			}
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
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
