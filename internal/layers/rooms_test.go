package layers

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// size is how large a package is, without its tests: lines of code are those with more than a comment.
type size struct{ files, lines int }

func (s size) fits(bound size) bool { return s.files <= bound.files && s.lines <= bound.lines }

// usual is the bound of a room: decision 36.
var usual = size{files: 25, lines: 3000}

// largeRow is a row of the table of large rooms: a package, its own bound, and the reason.
var largeRow = regexp.MustCompile("^\\| `([^`]+)` \\| (\\d+) \\| (\\d+) \\| (.{20,}) \\|$")

// largeRooms reads the table of docs/ARCHITECTURE.md.
func largeRooms(t *testing.T) map[string]size {
	t.Helper()
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Large rooms\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all := map[string]size{}
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		row := largeRow.FindStringSubmatch(line)
		switch {
		case row != nil:
			files, _ := strconv.Atoi(row[2]) // they are digits
			lines, _ := strconv.Atoi(row[3])
			all[row[1]] = size{files, lines}
		case strings.HasPrefix(line, "| `"):
			t.Errorf("%q is no package with its files, its lines and a reason", line)
		}
	}
	if len(all) == 0 {
		t.Fatal("docs/ARCHITECTURE.md has no table of large rooms")
	}
	return all
}

// A room has at most 25 files and 3,000 lines of code, or a bound of its own with a reason.
func TestRoomsAreSmall(t *testing.T) {
	large, all := largeRooms(t), sizes(t)
	for pkg, is := range all {
		switch bound, has := large[pkg]; {
		case !has && !is.fits(usual):
			t.Errorf("%s has %d files and %d lines of code; cut it where few names cross, or give it a row with the reason in docs/ARCHITECTURE.md, Large rooms", pkg, is.files, is.lines)
		case has && is.fits(usual):
			t.Errorf("%s is no large room any more: %d files and %d lines of code; remove its row", pkg, is.files, is.lines)
		case has && !is.fits(bound):
			t.Errorf("%s has %d files and %d lines of code, more than its row says (%d, %d)", pkg, is.files, is.lines, bound.files, bound.lines)
		}
	}
	for pkg := range large {
		if _, is := all[pkg]; !is {
			t.Errorf("the large room %s is no package", pkg)
		}
	}
}

// sizes are those of all packages, on any system.
func sizes(t *testing.T) map[string]size {
	t.Helper()
	const root = "../.."
	all := map[string]size{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || d.Name() == "scripts" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		is := all[pkg]
		all[pkg] = size{is.files + 1, is.lines + codeLines(text)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// codeLines is the number of lines that have more than a comment. Each line of a text between backquotes has.
func codeLines(text []byte) (n int) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for last := 0; ; {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" { // the scanner adds it
			continue
		}
		first := max(file.Line(pos), last+1)
		last = max(last, file.Line(pos)+strings.Count(literal, "\n"))
		n += last - first + 1
	}
}

func TestCodeLines(t *testing.T) {
	for text, want := range map[string]int{
		"package a\n":                            1,
		"// A comment.\npackage a // b\n\n":      1,
		"package a\n\nvar b = `c\n\nd`\n":        4,
		"package a\n/* b\nc */\nvar d = \"e\"\n": 2,
		"package a\nvar b = `\n` + `\n`\n":       4,
		"package a\nfunc b() {\n}\n":             3,
	} {
		if got := codeLines([]byte(text)); got != want {
			t.Errorf("%q has %d lines of code, want %d", text, got, want)
		}
	}
}
