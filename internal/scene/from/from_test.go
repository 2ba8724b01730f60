package from_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/scene/from"
	"github.com/taktload/takt/internal/scene/from/taken"
)

var update = flag.Bool("update", false, "write testdata/*.txt again")

// samples are the files of testdata and the formats that they have.
var samples = map[string]string{"shop.curl": "curl", "shop.postman.json": "postman", "shop.k6.js": "k6", "shop.jmx": "jmeter", "shop.gor": "gor",
	"odd.k6.js": "k6", "odd.postman.json": "postman", "odd.jmx": "jmeter"}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if name == "shop.gor" {
		text, err = os.ReadFile("../../trace/testdata/requests.gor")
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Each sample is recognized, and what is made of it is a scenario that takt reads.
func TestSamples(t *testing.T) {
	for name, format := range samples {
		text := sample(t, name)
		for _, f := range from.Table() {
			if looks := f.Looks(text); looks != (f.Name == format) && !(f.Name == "k6" && format == "curl") {
				t.Errorf("%s looks like %s: %v", name, f.Name, looks)
			}
		}
		taken, err := from.Read(text, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, taken.Text(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != string(taken.Text()) {
			t.Errorf("%s is not as in %s: %v\n%s", name, golden, err, taken.Text())
		}
		for _, err := range faults(t, taken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// faults are what takt does not accept of a scenario, but for files that are not there.
func faults(t testing.TB, taken *taken.Taken) (list []error) {
	t.Setenv("KEY", "k")
	t.Setenv("size", "1")
	dir := t.TempDir()
	for _, name := range []string{"users.csv", "photo.png", "body.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a,b\nc,d\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := string(taken.Text())
	for _, name := range []string{"users.csv", "photo.png", "body.json"} {
		text = strings.NewReplacer(`"`+name+`"`, fmt.Sprintf("%q", filepath.Join(dir, name)), " "+name+"\n", " "+filepath.Join(dir, name)+"\n", "@"+name+"\n", "@"+filepath.Join(dir, name)+"\n").Replace(text)
	}
	err := http.CheckScenario("scenario", []byte(text), taken.Home())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		list = append(list, fmt.Errorf("%w\n%s", err, text))
	}
	return list
}

// What a scenario can say is said so, and is a scenario that takt reads; else it is in the list.
func TestSaid(t *testing.T) {
	const script = "import http from 'k6/http'; export default function () { %s }"
	loop := func(body string) string { return "for (let i = 0; i < 3; i++) { " + body + " }" }
	for name, one := range map[string]struct{ text, want, not string }{
		"headers of all":    {"curl http://h/a -H 'X-A: b' -H 'X-B: 1'\ncurl http://h/b -H 'X-A: b' -H 'X-B: 2'", "X-A: b\n\n# line 1\nGET /a\nX-B: 1\n", "GET /b\nX-A"},
		"a header twice":    {"curl http://h/a -H 'X-A: b' -H 'x-a: c'\ncurl http://h/b -H 'X-A: b' -H 'x-a: c'", "GET /b\nX-A: b\nx-a: c\n", ""},
		"one header":        {"curl http://h/a -H 'X-A: b'", "GET /a\nX-A: b\n", ""},
		"a header at hosts": {"curl http://h/a -u a:b\ncurl http://o/b -u a:b", "GET http://o/b\nAuthorization: ", ""},
		"loops in loops":    {fmt.Sprintf(script, loop(loop("http.get('http://h/a'); http.get('http://h/b');"))), "loops within loops", "@group loop 2"},
		"two loops":         {fmt.Sprintf(script, loop("http.get('http://h/a'); http.get('http://h/b');")+loop("http.get('http://h/c'); http.get('http://h/d');")), "@group loop 2", ""},
		"no rounds":         {"import http from 'k6/http'; export function setup() { http.get('http://h/a') } export default function () {}", "in each round", "@setup"},
		"form":              {fmt.Sprintf(script, "http.post('http://h/a', {b: 'c'})"), "@follow\n", ""},
		"no redirects":      {fmt.Sprintf(script, "http.post('http://h/a', {b: 'c'}, {redirects: 0})"), "@form b c", "@follow"},
		"a page":            {fmt.Sprintf(script, "const r = http.get('http://h/a'); http.get('http://h/b?' + r.html('form').find('[name=x]').val())"), "css form [name=x] attr value", ""},
		"no selector":       {fmt.Sprintf(script, "const r = http.get('http://h/a'); http.get('http://h/b?' + r.html().find(':visible').text())"), "VALUE-OF-", "css"},
	} {
		taken, err := from.Read([]byte(one.text), "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := string(taken.Text())
		if !strings.Contains(text, one.want) || one.not != "" && strings.Contains(text, one.not) {
			t.Errorf("%s: want %q, not %q:\n%s", name, one.want, one.not, text)
		}
		for _, err := range faults(t, taken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stranger's file is an error, or a scenario that takt reads: no panic, no hang, no line that means something else.
func TestHostile(t *testing.T) {
	deep := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	for name, text := range map[string]string{
		"entities": `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><jmeterTestPlan>&b;</jmeterTestPlan>`,
		"elements": "<jmeterTestPlan>" + deep("<hashTree>", "", "</hashTree>", 100_000) + "</jmeterTestPlan>",
		"folders":  `{"info":{"schema":"schema.getpostman.com/v2.1"},"item":[` + deep(`{"name":"a","item":[`, "", "]}", 3000) + "]}",
		"arrays":   `{"info":{"schema":"schema.getpostman.com/v2.1"},"item":[` + deep("[", "", "]", 100_000) + "]}",
		"brackets": "import 'k6/http';" + deep("(", "1", ")", 100_000),
		"blocks":   "import 'k6/http';" + deep("{", "", "}", 100_000),
		"arrows":   "import 'k6/http';" + deep("a=>", "1", "", 100_000),
		"nots":     "import 'k6/http';" + deep("!", "1", "", 100_000),
		"choices":  "import 'k6/http';" + deep("a?", "1", ":b", 100_000),
		"template": "import 'k6/http';" + deep("`${", "1", "}`", 10_000),
		"parts":    "import 'k6/http'; `" + strings.Repeat("${a}", 100_000) + "`",
		"elses":    "import 'k6/http';" + deep("if(a){}else ", "b()", "", 100_000),
		"calls":    "import http from 'k6/http'; function a(){b();b()} function b(){a();a()} export default function(){a();http.get('http://h/')}",
		"doubling": "import http from 'k6/http'; function f0(){} " + doubling(60) + "export default function(){f60();http.get('http://h/')}",
		"texts":    "import http from 'k6/http'; let a='xxxxxxxxxxxxxxxx'; " + strings.Repeat("a=a+a;", 40) + "export default function(){http.get('http://h/'+a)}",
		"long":     "curl http://h/" + strings.Repeat("a", 1<<20),
		"quote":    "curl 'http://h/",
		"lines":    "curl $'http://h/\\r\\n\\r\\nGET /evil' -H $'A: b\\r\\nC: d' -d $'x\\n@capture a body\\n' -X $'GE\\nT'",
	} {
		t.Run(name, func(t *testing.T) {
			taken, err := from.Read([]byte(text), "")
			if err != nil {
				return
			}
			if list := faults(t, taken); len(list) > 0 && name != "lines" {
				t.Errorf("%.300v", list[0])
			}
			if strings.Contains(string(taken.Text()), "\nGET /evil") {
				t.Errorf("a text became a line:\n%s", taken.Text())
			}
		})
	}
	if _, err := from.Read([]byte("hello"), ""); err == nil || !strings.Contains(err.Error(), "--format") {
		t.Errorf("a text of no format: %v", err)
	}
}

// doubling are functions that call the one before twice each.
func doubling(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "function f%d(){f%d();f%d()} ", i, i-1, i-1)
	}
	return b.String()
}

// A cut file is an error or a scenario, too.
func TestCut(t *testing.T) {
	for name, format := range samples {
		text := sample(t, name)
		for n := 0; n < len(text); n += 1 + len(text)/150 {
			taken, err := from.Read(text[:n], format)
			if err != nil {
				continue
			}
			for _, err := range faults(t, taken) {
				t.Errorf("%s cut at %d: %.500v", name, n, err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for name := range samples {
		f.Add(sample(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range from.Names() {
			_, _ = from.Read(text, format)
		}
	})
}
