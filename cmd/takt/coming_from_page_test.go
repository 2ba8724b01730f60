package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// comparison is what the page is compared with.
type comparison struct {
	lists map[string]facts
	faces map[string]*face
	bench map[string]bool // the names of pkg/bench
}

// check returns the faults of a page.
func (c comparison) check(page string) (faults []string) {
	sections := map[string]string{}
	for _, part := range strings.Split("\n"+page, "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		sections[listName(name)] = text
	}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		list, ok := c.lists[name]
		if !ok {
			faults = append(faults, name+": a section without a list of facts")
			continue
		}
		s := section{comparison: c, name: name, list: list, face: c.faces[list.against], found: map[string]bool{}}
		faults = append(faults, s.check(sections[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.lists)) {
		if _, ok := sections[name]; !ok {
			faults = append(faults, name+": a list of facts without a section")
		}
	}
	return faults
}

func listName(section string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(section), " ", "-"))
}

// section is the part of the page about one predecessor.
type section struct {
	comparison
	name   string
	list   facts
	face   *face
	found  map[string]bool
	faults []string
}

func (s *section) fault(format string, args ...any) {
	s.faults = append(s.faults, s.name+": "+fmt.Sprintf(format, args...))
}

func (s *section) check(text string) []string {
	if s.face == nil {
		s.fault("its list is against %q, which is not a face", s.list.against)
		return s.faults
	}
	kind := "" // of the table at hand
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			kind = ""
		case kind == "":
			kind = s.head(line)
		case line != "|---|---|":
			s.row(kind, line)
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(s.list.all)) {
		if !s.found[fact] {
			s.fault("%s is not on the page", fact)
		}
	}
	return s.faults
}

// head is the kind of a table.
func (s *section) head(line string) string {
	cells := cellsOf(line)
	if len(cells) != 2 || cells[1] != "takt" || !slices.Contains(kinds(), cells[0]) {
		s.fault("%s: unknown head of a table", line)
	}
	return cells[0]
}

func (s *section) row(kind, line string) {
	cells := cellsOf(line)
	if len(cells) != 2 {
		s.fault("%s: not two cells", line)
		return
	}
	left := spans(cells[0])
	if len(left) == 0 {
		s.fault("%s: nothing in backticks at the left", line)
	}
	for _, span := range left {
		fact := kind + " " + span
		s.found[fact] = true
		if !s.list.all[fact] {
			s.fault("%s is not in its list of facts", fact)
		}
	}
	if cells[1] == "" {
		s.fault("%s: nothing at the right", line)
	}
	for _, span := range spans(cells[1]) {
		s.right(kind, span)
	}
}

// right compares a text in backticks in the right column with takt.
func (s *section) right(kind, span string) {
	commands := commandsIn(span)
	for _, line := range commands {
		if err := checkCommand(line); err != nil {
			s.fault("%s: %v", line, err)
		}
	}
	name, isBench := strings.CutPrefix(span, "bench.")
	switch {
	case len(commands) > 0:
	case isBench:
		if !s.bench[name] {
			s.fault("%s: no such name in pkg/bench", span)
		}
	case s.face.typed:
		if !s.face.prints(span) && !strings.HasPrefix(span, "make ") {
			s.fault("%s: no transcript or help of the shell has it", span)
		}
	case strings.HasPrefix(span, "-"):
		if err := s.face.flag(span); err != nil {
			s.fault("%s: %v", span, err)
		}
	case kind == "output" && !s.face.prints(span):
		s.fault("%s: %s prints no such thing", span, s.list.against)
	}
}

// commandsIn returns the takt commands in a span that is a command line.
func commandsIn(span string) (list []string) {
	for part := range strings.SplitSeq(span, " | ") {
		if strings.HasPrefix(part, "takt ") {
			list = append(list, part)
		}
	}
	return list
}

// cellsOf splits the row of a table into cells; \| is not a border.
func cellsOf(line string) (cells []string) {
	const border = "\x00"
	line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, border)
	for cell := range strings.SplitSeq(line, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, border, "|")))
	}
	return cells
}

// spans are the texts in backticks.
func spans(cell string) (list []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			list = append(list, part)
		}
	}
	return list
}
