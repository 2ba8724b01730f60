package functions

import "strings"

// Touch marks the functions that a change touches. diff is that of git diff -W, for files of Go: each hunk begins with
// the line of a function.
func (r *Result) Touch(diff string) {
	touched := touchedBy(diff)
	for i := range r.Functions {
		f := &r.Functions[i]
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Name, packageOf(f.Name)+"."), "[")
		f.Touched = touched[name]
	}
}

// touchedBy are the functions with changed lines, as work, T.work or (*T).work.
func touchedBy(diff string) map[string]bool {
	touched, in := map[string]bool{}, ""
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "diff ") {
			in = "" // another hunk
			continue
		}
		text := line[1:]
		if strings.HasPrefix(text, "func ") {
			in = declared(text)
		}
		if changed := line[0] == '+' || line[0] == '-'; changed && in != "" {
			touched[in] = true
		}
		if text == "}" {
			in = ""
		}
	}
	return touched
}

// declared is the name in a line that declares a function: func (t *T[K]) work(n int) {.
func declared(line string) string {
	line = strings.TrimPrefix(line, "func ")
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
