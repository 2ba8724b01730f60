package functions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mostSamples bounds the number of one stack, so that sums cannot overflow.
const mostSamples = 1e9

// addFolded adds stacks as lines "outer;inner N". N is a number of samples, so only their shares are known.
func (r *Run) addFolded(text string) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[end+1:], 10, 64)
		if end < 1 || err != nil || n < 0 || n > mostSamples {
			return fmt.Errorf("line %d of the profile is no stack such as %q: %q; write folded stacks, pprof's format, or a .cpuprofile of V8", number, "main;work 12", clipped(line))
		}
		r.addFrames(unfolded(line[:end]), n)
	}
	r.Counted = true
	return nil
}

// clipped is the beginning of a line, for an error.
func clipped(line string) string { return line[:min(len(line), 80)] }

// unfolded are the frames of a line, the innermost first.
func unfolded(line string) (stack []frame) {
	for {
		if len(stack) == deepest {
			return append(stack, frame{name: cutOff})
		}
		at := strings.LastIndexByte(line, ';')
		if name := line[at+1:]; name != "" {
			stack = append(stack, frameOf(name))
		}
		if at < 0 {
			return stack
		}
		line = line[:at]
	}
}

// v8Profile is a .cpuprofile, as Node.js and Chromium write it.
type v8Profile struct {
	Nodes []struct {
		ID        int
		CallFrame struct {
			FunctionName string
			URL          string
			LineNumber   int // from 0; that of the function
		}
		Children []int
	}
	Samples    []int   // the nodes
	TimeDeltas []int64 // µs between a sample and the one before
}

// mostDelta bounds the time between two samples, in µs, so that sums cannot overflow: a minute.
const mostDelta = 60e6

// addV8 adds the stacks of a .cpuprofile, but not the time in which the thread had nothing to do. Its positionTicks are
// no lines of a function: they have those of inlined functions, too, also of other files.
func (r *Run) addV8(text []byte) error {
	var p v8Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("this is no .cpuprofile of V8: %w", err)
	}
	if len(p.Nodes) == 0 || len(p.TimeDeltas) != len(p.Samples) {
		return errors.New("this is no .cpuprofile of V8: it needs nodes, samples and as many timeDeltas")
	}
	frames, parent, micros := map[int]frame{}, map[int]int{}, map[int]int64{}
	for _, n := range p.Nodes {
		first := n.CallFrame.LineNumber + 1
		f := frame{n.CallFrame.FunctionName, n.CallFrame.URL, span{first, first}}
		if f.file == "" && !strings.HasPrefix(f.name, "(") {
			f.file = "native" // a function of V8 or of Node.js in C++
		}
		frames[n.ID] = f
		for _, c := range n.Children {
			parent[c] = n.ID
		}
	}
	for i := range len(p.Samples) - 1 { // a sample lasts until the next one
		if d := p.TimeDeltas[i+1]; d > 0 && d <= mostDelta {
			micros[p.Samples[i]] += d
		}
	}
	for id, us := range micros {
		if frames[id].name == "(idle)" {
			continue
		}
		r.addFrames(climbed(id, frames, parent), us*1e3)
	}
	return nil
}

// climbed are the frames of a node and its callers.
func climbed(id int, frames map[int]frame, parent map[int]int) (stack []frame) {
	for {
		f, ok := frames[id]
		if !ok || f.name == "(root)" {
			return stack
		}
		if len(stack) == deepest { // callers may be a circle
			return append(stack, frame{name: cutOff})
		}
		stack = append(stack, f)
		if id, ok = parent[id]; !ok {
			return stack
		}
	}
}

// isV8 reports whether a text is JSON, as a .cpuprofile is.
func isV8(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }
