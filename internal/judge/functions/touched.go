package functions

import (
	"regexp"
	"strconv"
	"strings"
)

// Sources are patterns of git for the files that Touch understands.
func Sources() []string {
	return strings.Fields("*.go *.py *.js *.mjs *.cjs *.jsx *.ts *.tsx *.java *.kt *.scala *.rs *.c *.cc *.cpp *.h *.hpp *.cs *.rb *.php")
}

// Touch marks the functions that a change touches. diff is that of git diff -W: each hunk begins with the line of a
// function, or of what is around it.
func (r *Result) Touch(diff string) {
	touched := touchedBy(diff)
	for i := range r.Functions {
		f := &r.Functions[i]
		f.Touched = touched.names[plain(f.Name)] || touched.names[f.Name]
		for side, at := range f.places {
			f.Touched = f.Touched || touched.within(side, at)
		}
	}
}

// plain is the name of a function as a diff has it: work of com/example/Server.work, and (*T).work of Go.
func plain(name string) string {
	if strings.HasSuffix(name, ")") && strings.Contains(name, " (") {
		return "" // the file belongs to it
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, packageOf(name)+"."), "[")
	if strings.HasPrefix(name, "(*") {
		return name
	}
	if at := strings.LastIndex(name, "::"); at >= 0 {
		name = name[at+2:]
	}
	return name
}

// change is what a diff touches.
type change struct {
	names map[string]bool            // functions: work, T.work or (*T).work of Go, and "work (server.py)" of others, also without the file
	lines [2]map[string]map[int]bool // changed lines of base and head, by path
}

func (c *change) within(side int, at place) bool {
	for line := range c.lines[side][at.path] {
		if at.first <= line && line <= at.last {
			return true
		}
	}
	return false
}

// reading is the state of a diff that is read.
type reading struct {
	change
	path string
	next [2]int // line of base and head
	left [2]int // lines of the hunk
	in   []scope
}

// scope is a function, and how far its declaration is indented.
type scope struct {
	names  []string
	indent int
}

// hunk is the line that begins one.
var hunk = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// touchedBy reads a diff.
func touchedBy(diff string) change {
	r := reading{change: change{names: map[string]bool{}, lines: [2]map[string]map[int]bool{{}, {}}}}
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if r.left != [2]int{} && line != "" {
			r.line(line[0], line[1:])
			continue
		}
		if m := hunk.FindStringSubmatch(line); m != nil {
			r.in = nil
			for side := range r.next {
				r.next[side], r.left[side] = number(m[1+2*side], 0), number(m[2+2*side], 1)
			}
		}
		for _, begin := range []string{"--- a/", "+++ b/"} {
			if path, ok := strings.CutPrefix(line, begin); ok {
				r.path = path
			}
		}
	}
	return r.change
}

// number is a number of a hunk; missing ones have a default.
func number(text string, missing int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return missing
}

// line reads a line of a hunk. kind is ' ', '-' or '+'; '\\' is a remark of git.
func (r *reading) line(kind byte, text string) {
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	if name := declared(text, strings.HasSuffix(r.path, ".go")); name != "" {
		r.leave(indent)
		r.in = append(r.in, scope{[]string{name, inFile(name, r.path)}, indent})
	} else if text = strings.TrimSpace(text); text != "" && !strings.ContainsAny(text[:1], "})]") {
		r.leave(indent)
	}
	for side, mark := range []byte("-+") {
		if kind != mark && kind != ' ' {
			continue
		}
		if kind == mark {
			r.changed(side)
		}
		r.next[side]++
		r.left[side]--
	}
	if strings.HasPrefix(text, "}") {
		r.leave(indent)
	}
}

// leave ends the functions around a line of this indent.
func (r *reading) leave(indent int) {
	for len(r.in) > 0 && indent <= r.in[len(r.in)-1].indent {
		r.in = r.in[:len(r.in)-1]
	}
}

// changed notes the next line of a side.
func (r *reading) changed(side int) {
	lines := r.lines[side][r.path]
	if lines == nil {
		lines = map[int]bool{}
		r.lines[side][r.path] = lines
	}
	lines[r.next[side]] = true
	if len(r.in) > 0 {
		for _, name := range r.in[len(r.in)-1].names {
			r.names[name] = true
		}
	}
}

// How lines of other languages than Go declare functions.
var declarations = []*regexp.Regexp{
	regexp.MustCompile(`^\s*(?:[\w()]+\s+)*(?:def|function\*?|fn|fun|sub)\s+(?:\w+\.)?(\w+)`),                                      // Python, JavaScript, Rust, Kotlin, Ruby, PHP
	regexp.MustCompile(`(\w+)\s*[=:]\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)`),                                      // const work = (n) =>
	regexp.MustCompile(`^\s*(?:[\w<>\[\],.*&:]+\s+)*[*&]*(?:\w+::)*(\w+)\s*\([^;]*\)\s*(?:const|noexcept|throws [\w.,\s]+)?\s*\{`), // methods of JavaScript, Java, C and C++
}

// notNames are words before a parenthesis that begin no declaration.
var notNames = regexp.MustCompile(`^\s*\}?\s*(?:if|for|while|switch|catch|else|return|new|do|with|elif|except|foreach|synchronized|using|lock|match)\b`)

// declared is the name in a line that declares a function; "": it declares none.
func declared(line string, inGo bool) string {
	if inGo {
		return declaredInGo(line)
	}
	if notNames.MatchString(line) {
		return ""
	}
	for _, d := range declarations {
		if m := d.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

// declaredInGo is the name in a line of Go: func (t *T[K]) work(n int) {.
func declaredInGo(line string) string {
	line, ok := strings.CutPrefix(line, "func ")
	if !ok {
		return ""
	}
	receiver := ""
	if strings.HasPrefix(line, "(") {
		receiver, line, _ = strings.Cut(line[1:], ") ")
		receiver = receiver[strings.LastIndexByte(" "+receiver, ' '):]
		receiver, _, _ = strings.Cut(receiver, "[")
		if strings.HasPrefix(receiver, "*") {
			receiver = "(" + receiver + ")"
		}
		receiver += "."
	}
	if end := strings.IndexAny(line, "(["); end >= 0 {
		line = line[:end]
	}
	return receiver + line
}
