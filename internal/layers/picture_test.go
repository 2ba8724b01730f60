package layers

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// arrows are those of a picture: which boxes each box points to.
type arrows map[string][]string

var (
	boxLine   = regexp.MustCompile(`^(\w+)\["(\w+): .+"\]$`)
	arrowLine = regexp.MustCompile(`^(\w+) --> (\w+(?: & \w+)*)$`)
)

// picture reads a flow chart of Mermaid: boxes, and arrows between them.
func picture(t *testing.T, text string) arrows {
	t.Helper()
	all := arrows{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		box, arrow := boxLine.FindStringSubmatch(line), arrowLine.FindStringSubmatch(line)
		switch {
		case box != nil && box[1] == box[2]:
			all[box[1]] = []string{}
		case arrow != nil:
			all[arrow[1]] = append(all[arrow[1]], strings.Split(arrow[2], " & ")...)
		case line != "" && line != "flowchart TD":
			t.Errorf("the picture has the line %q, which is no box with its name and no arrow", line)
		}
	}
	return all
}

// leads reports whether arrows lead from one box to another, by any way.
func (a arrows) leads(from, to string) bool {
	return slices.ContainsFunc(a[from], func(next string) bool { return next == to || a.leads(next, to) })
}

// faults compares a picture with the imports between layers.
func (a arrows) faults(between arrows) (faults []string) {
	for from, all := range a {
		for _, to := range all {
			if !slices.Contains(between[from], to) {
				faults = append(faults, "no package of "+from+" imports one of "+to+", but the picture has the arrow")
			}
		}
	}
	if len(faults) > 0 { // else the arrows are imports, which lead in no circle
		return faults
	}
	for from, all := range between {
		for _, to := range all {
			if !a.leads(from, to) {
				faults = append(faults, from+" imports "+to+", but no arrows of the picture lead there")
			}
		}
	}
	return faults
}

// The picture of docs/ARCHITECTURE.md has the layers, and the imports between them.
func TestPicture(t *testing.T) {
	l, between := layers(t), arrows{}
	for _, names := range l {
		between[names[0]] = nil
	}
	for pkg, all := range imports(t) {
		from := l[l.place(pkg).line][0]
		for _, imported := range all {
			if to := l[l.place(imported).line][0]; to != from && !slices.Contains(between[from], to) {
				between[from] = append(between[from], to)
			}
		}
	}
	drawn := picture(t, block(t, "## The packages", "mermaid"))
	if boxes, names := slices.Sorted(maps.Keys(drawn)), slices.Sorted(maps.Keys(between)); !slices.Equal(boxes, names) {
		t.Fatalf("the picture has the boxes %q, and the layers are %q", boxes, names)
	}
	for _, fault := range drawn.faults(between) {
		t.Error(fault)
	}
}

func TestPictureSees(t *testing.T) {
	drawn := picture(t, "flowchart TD\n  a[\"a: x\"]\n  b[\"b: y\"]\n  c[\"c: z\"]\n\n  a --> b & c\n  b --> c\n")
	if got := drawn.faults(arrows{"a": {"b", "c"}, "b": {"c"}}); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := drawn.faults(arrows{"a": {"b"}, "b": {"c"}}); len(got) != 1 {
		t.Errorf("an arrow too many: %q", got)
	}
	if got := drawn.faults(arrows{"a": {"b", "c"}, "b": {"c", "d"}}); len(got) != 1 {
		t.Errorf("no way from b to d: %q", got)
	}
	if delete(drawn, "b"); drawn.leads("a", "d") || !drawn.leads("a", "c") {
		t.Error(drawn)
	}
}
