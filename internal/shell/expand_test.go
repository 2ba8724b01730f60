package shell

import (
	"slices"
	"strings"
	"testing"
)

// seed are the definitions of hey-apm's README.
var seed = map[string]string{
	"co":   "apm switch -fcmv $",
	"ones": "test 30s 1 1 1 1",
	"tens": "test 30s 10 10 10 1",
	"do":   "co ; ones ; tens",
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{" ; ;; ", ""},
		{"status", "status"},
		{"status; queue ; help", "status|queue|help"},
		{"http 'a b' \"c;\" d\\ e http://h/;x;y", "http 'a b' 'c;' 'd e' http://h/;x;y"},
		{"a ''", "a ''"},
		{"ones", "test 30s 1 1 1 1"},
		{"'ones' \\$", "ones '$'"},
		{"co master", "apm switch -fcmv master"},
		{"apm switch $ ; ones ; test 1 2 3 4 master", "apm switch master|test 30s 1 1 1 1|test 1 2 3 4"},
		{"co master again", "apm switch -fcmv again master"},
		// the words of a command are its own, where hey-apm gave status to the $
		{"do x ; status", "apm switch -fcmv x|test 30s 1 1 1 1|test 30s 10 10 10 1|status"},
		{"co a ; co b", "apm switch -fcmv a|apm switch -fcmv b"},
		{"co '$'", "apm switch -fcmv '$'"},
		{"do ; do master axw/trace-apm-server", // as printed in the README
			"apm switch -fcmv master|test 30s 1 1 1 1|test 30s 10 10 10 1|" +
				"apm switch -fcmv axw/trace-apm-server|test 30s 1 1 1 1|test 30s 10 10 10 1"},
	} {
		got, err := expand(c.line, seed)
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
			continue
		}
		if text := written(got); text != c.want {
			t.Errorf("%q: %s\nwant %s", c.line, text, c.want)
		}
	}
}

func written(commands [][]string) string {
	var list []string
	for _, c := range commands {
		list = append(list, join(c))
	}
	return strings.Join(list, "|")
}

func TestExpandFaults(t *testing.T) {
	loop := map[string]string{"a": "b b", "b": "a a", "x": "x2 x2", "x2": "y y", "bad": "it's"}
	for _, c := range []struct{ line, want string }{
		{"co", "too many variables: 1 of the $ have no word"},
		{"do ; do master", "too many variables: 2 of the $"},
		{"apm switch $ $ 1", "too many variables: 2 of the $"},
		{"a", "too many substitutions (recursive definition?)"},
		{"http 'x", "a quote ' is not closed"},
		{`http "x`, `a quote " is not closed`},
		{`http x\`, `the line ends with \`},
		{"http \x1b[2J", "the line has U+001B"},
		{"http \xff", "the line is not UTF-8"},
		{"bad", "the definition of bad: a quote ' is not closed"},
	} {
		definitions := loop
		if strings.Contains(c.line, "co") || strings.Contains(c.line, "do") {
			definitions = seed
		}
		if got, err := expand(c.line, definitions); err == nil || !strings.HasPrefix(err.Error(), c.want) || got != nil {
			t.Errorf("%q: %v, %v, want %s", c.line, got, err, c.want)
		}
	}
}

// What join writes split reads as the same words; nothing that expand gives holds a
// separator or a $ that was not quoted.
func FuzzExpand(f *testing.F) {
	for _, line := range []string{"do ; do a b", "co $", "'a b' \"\\\"\" ;", "ones;", "tens tens $ 1", `\; $`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		commands, err := expand(line, seed)
		if err != nil {
			return
		}
		for _, words := range commands {
			again, err := split(join(words))
			if err != nil || !slices.Equal(texts(again), words) {
				t.Errorf("%q: %q is read as %q, %v", line, words, texts(again), err)
			}
			if slices.ContainsFunc(again, func(w word) bool { return w.is(separator) || w.is(variable) }) {
				t.Errorf("%q: %q is not quoted", line, words)
			}
		}
	})
}
