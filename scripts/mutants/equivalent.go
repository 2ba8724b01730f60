package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalents lists, by key, the mutants that change nothing that a user could see.
type equivalents struct {
	file    string
	reasons map[string]string
}

// readEquivalent reads blocks of four lines, separated by empty lines: file and function, "- " and
// the original line, "+ " and the line of the mutant, "# " and the reason.
func readEquivalent(file string) (*equivalents, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the equivalent mutants: %w; run this from the root of the repository", err)
	}
	return parseEquivalent(file, string(text))
}

func parseEquivalent(file, text string) (*equivalents, error) {
	e := &equivalents{file: file, reasons: map[string]string{}}
	for block := range strings.SplitSeq(text, "\n\n") {
		key, reason, _ := strings.Cut(strings.Trim(block, "\n"), "\n# ")
		switch lines := strings.Split(key, "\n"); {
		case key == "":
		case len(lines) != 3 || !strings.HasPrefix(lines[1], "- ") || !strings.HasPrefix(lines[2], "+ ") || reason == "":
			return nil, fmt.Errorf("%s: %q is not an equivalent mutant: give four lines: file and function, - before, + after, # reason", file, block)
		case e.reasons[key] != "":
			return nil, fmt.Errorf("%s: %q is there twice; remove one", file, block)
		default:
			e.reasons[key] = reason
		}
	}
	return e, nil
}

func (e *equivalents) has(m *mutant) bool { return e.reasons[m.key()] != "" }

// check refuses keys of a target's files that name no mutant: the code has changed, so the list must
// change, too.
func (e *equivalents) check(t target, found []*mutant) error {
	known := map[string]bool{}
	for _, m := range found {
		known[m.key()] = true
	}
	var stale []string
	for key := range e.reasons {
		if strings.HasPrefix(key, t.folder+"/") && !known[key] {
			stale = append(stale, key)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	return fmt.Errorf("%s names mutants that do not exist; correct or remove them:\n%s", e.file, strings.Join(stale, "\n"))
}
