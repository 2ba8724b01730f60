package functions

import (
	"slices"
)

// Stacks are the stacks of profiles as a tree: what stacks have in common, from the outermost function on, is there once.
type Stacks struct {
	Frames []Frame // each caller stands before the functions that it calls

	at map[call]int // index of a frame
}

// Frame is a function at one place of the stacks.
type Frame struct {
	Name   string
	Caller int        // index of the frame that called the function; -1: it is outermost
	Own    [2]float64 // CPU time of the stacks that end here, of base and head; in a Run only the first, in ns
}

type call struct {
	caller int
	name   string
}

// Bounds of the stacks of a run, which another program wrote.
const (
	deepest    = 512     // functions of a stack; outer ones are left out
	mostFrames = 20_000  // calls that are not there by then belong to their callers
	cutOff     = "[cut]" // stands for the outer functions that are left out
)

// add adds a stack, the innermost first.
func (s *Stacks) add(stack []string, side int, weight float64) {
	at := -1
	for _, name := range slices.Backward(stack) {
		next := s.frame(at, name)
		if next < 0 {
			break
		}
		at = next
	}
	if at >= 0 {
		s.Frames[at].Own[side] += weight
	}
}

// frame is the index of a call, which is made unless there are too many; -1: there are.
func (s *Stacks) frame(caller int, name string) int {
	key := call{caller, name}
	if at, ok := s.at[key]; ok {
		return at
	}
	if len(s.Frames) >= mostFrames {
		return -1
	}
	if s.at == nil {
		s.at = map[call]int{}
	}
	s.Frames = append(s.Frames, Frame{Name: name, Caller: caller})
	s.at[key] = len(s.Frames) - 1
	return s.at[key]
}

// merge adds the stacks of a run to a side, with their times multiplied by scale.
func (s *Stacks) merge(run *Stacks, side int, scale float64) {
	here := make([]int, len(run.Frames))
	for i, f := range run.Frames {
		caller := -1
		if f.Caller >= 0 {
			caller = here[f.Caller]
		}
		if here[i] = s.frame(caller, f.Name); here[i] < 0 {
			here[i] = caller
		}
		if here[i] >= 0 {
			s.Frames[here[i]].Own[side] += f.Own[0] * scale
		}
	}
}

// Whole is the time of each frame with all that it calls.
func (s *Stacks) Whole() [][2]float64 {
	all := make([][2]float64, len(s.Frames))
	for i, f := range slices.Backward(s.Frames) {
		for side := range all[i] {
			all[i][side] += f.Own[side]
			if f.Caller >= 0 {
				all[f.Caller][side] += all[i][side]
			}
		}
	}
	return all
}

// Stack are the names of a frame and its callers, the outermost first.
func (s *Stacks) Stack(i int) (names []string) {
	for ; i >= 0; i = s.Frames[i].Caller {
		names = append(names, s.Frames[i].Name)
	}
	slices.Reverse(names)
	return names
}
