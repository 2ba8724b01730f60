package answers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// answerOf is an answer with a body of JSON.
func answerOf(body string) *Answer {
	return &Answer{Request: "GET /", Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), Whole: true, Size: int64(len(body))}
}

// with returns the answer with a change.
func (a *Answer) with(change func(a *Answer)) *Answer {
	b := *a
	b.Header = a.Header.Clone()
	change(&b)
	return &b
}

// always compares so many equal pairs of base with head, each difference of which repeats.
func always(n int, base, head *Answer, ignore ...string) Result {
	c := New(ignore, nil)
	for range n {
		if c.Compare(base, base, head) {
			c.Repeat(base, head, base, head)
		}
	}
	return c.Result(n, 0.95)
}

// Each change has the path and the kind that its author would name.
func TestEachChangeIsFound(t *testing.T) {
	base := answerOf(`{"id":7,"name":"a","price":1.0,"note":null,"tags":["x","y","z"],"items":[{"sku":"p","n":1},{"sku":"q","n":2}],"odd key":{"a.b":true}}`)
	base.Header.Set("ETag", "v1")
	base.Header.Add("Set-Cookie", "lang=en; Path=/")
	begins := fmt.Sprintf("byte 0 of %d: %s…", len(base.Body), base.Body[:64])
	json := func(from, to string) func(*Answer) {
		return func(a *Answer) {
			if !strings.Contains(string(a.Body), from) {
				t.Fatalf("no %s", from)
			}
			a.Body = []byte(strings.Replace(string(a.Body), from, to, 1))
		}
	}
	for _, c := range []struct {
		change         func(*Answer)
		path           string
		kind           Kind
		at, base, head string
	}{
		{func(a *Answer) { a.Status = 201 }, "status", Value, "status", "200", "201"},
		{func(a *Answer) { a.Failed = "timeout" }, "status", Value, "status", "200", `"no answer (timeout)"`},
		{json(`"name":"a",`, ``), "$.name", Missing, "$.name", `"a"`, ""},
		{json(`"name":"a"`, `"name":"a","new":[1]`), "$.new", Extra, "$.new", "", "[1]"},
		{json(`"id":7`, `"id":"7"`), "$.id", Type, "$.id", "7", `"7"`},
		{json(`"note":null,`, ``), "$.note", Missing, "$.note", "null", ""},
		{json(`"note":null`, `"note":0`), "$.note", Type, "$.note", "null", "0"},
		{json(`"price":1.0`, `"price":1`), "$.price", Number, "$.price", "1.0", "1"},
		{json(`"price":1.0`, `"price":1.5`), "$.price", Value, "$.price", "1.0", "1.5"},
		{json(`"n":2`, `"n":3`), "$.items[*].n", Value, "$.items[1].n", "2", "3"},
		{json(`["x","y","z"]`, `["y","z","x"]`), "$.tags", Order, "$.tags", `["x","y","z"]`, `["y","z","x"]`},
		{json(`["x","y","z"]`, `["w","x","y","z"]`), "$.tags", Length, "$.tags", "3 elements", "4 elements"},
		{json(`["x","y","z"]`, `["x","y","w"]`), "$.tags[*]", Value, "$.tags[2]", `"z"`, `"w"`},
		{json(`["x","y","z"]`, `{}`), "$.tags", Type, "$.tags", `["x","y","z"]`, `{}`},
		{json(`"a.b":true`, `"a.b":false`), `$["odd key"]["a.b"]`, Value, `$["odd key"]["a.b"]`, "true", "false"},
		{func(a *Answer) { a.Header.Del("ETag") }, "header Etag", Missing, "header Etag", `"v1"`, ""},
		{func(a *Answer) { a.Header.Set("X-New", "1") }, "header X-New", Extra, "header X-New", "", `"1"`},
		{func(a *Answer) { a.Header.Set("Set-Cookie", "lang=de; Path=/") }, "header Set-Cookie lang", Value, "header Set-Cookie lang", `"lang=en; Path=/"`, `"lang=de; Path=/"`},
		{func(a *Answer) { a.Body, a.Size, a.Broken = a.Body[:20], 20, "unexpected EOF" }, "body", Cut, "body", fmt.Sprintf("%d bytes, complete", base.Size), "20 bytes, then unexpected EOF"},
		{func(a *Answer) { a.Body = []byte("<html>") }, "body", Type, "body", begins, "byte 0 of 6: <html>"},
		{func(a *Answer) { a.Body = nil }, "body", Missing, "body", begins, ""},
		{json(`"id":7`, "\"id\":\"\x1b[2J\\u202e\""), "body", Type, "body", begins, "byte 0 of 144: {\"id\":\"·[2J\\u202e\"" + string(base.Body[7:53]) + "…"}, // a raw ESC is no JSON
		{json(`"name":"a"`, `"name":"\u001b]0;x\u202e"`), "$.name", Value, "$.name", `"a"`, `"\u001b]0;x·"`},
	} {
		r := always(20, base, base.with(c.change))
		if len(r.Differences) != 1 || r.Verdict != Differ {
			t.Errorf("%s %s: %+v", c.path, c.kind, r)
			continue
		}
		if d := r.Differences[0]; d.Path != c.path || d.Kind != c.kind || d.Example.At != c.at || d.Example.Base != c.base || d.Example.Head != c.head || d.Requests != 20 || !d.Proven {
			t.Errorf("%s %s:\n%+v", c.path, c.kind, d)
		}
		if r := always(20, base, base.with(c.change), c.path); r.Verdict != Same || len(r.Differences) > 0 {
			t.Errorf("--answers-ignore %q: %+v", c.path, r)
		}
	}
}

// What does not change the answer is no difference.
func TestEqualAnswers(t *testing.T) {
	base := answerOf(`{"a":1,"b":[{"x":"é"},2]}`)
	for _, change := range []func(*Answer){
		func(a *Answer) { a.Body = []byte(" {\"b\": [{\"x\":\"\\u00e9\"},2],\n\"a\":1} ") },
		func(a *Answer) {
			a.Header.Set("Content-Length", "25")
			a.Header.Set("Date", "now")
			a.Header.Set("Connection", "close")
		},
		func(a *Answer) { a.Header.Set("Content-Encoding", "gzip") },
	} {
		if r := always(5, base, base.with(change)); r.Verdict != Same || r.High < 0.3 || r.High > 0.6 {
			t.Errorf("%+v", r)
		}
	}
}

// Binary bodies are compared by their bytes.
func TestBinary(t *testing.T) {
	a := &Answer{Status: 200, Header: http.Header{}, Body: []byte("\x89PNG\x00\x01\x02\x03"), Whole: true}
	b := a.with(func(a *Answer) { a.Body = []byte("\x89PNG\x00\x01\xff\x03") })
	r := always(3, a, b)
	if len(r.Differences) != 1 || r.Differences[0].Path != "body" || r.Differences[0].Kind != Value || !strings.HasPrefix(r.Differences[0].Example.Base, "byte 6 of 8: ") {
		t.Errorf("%+v", r)
	}
	long := a.with(func(a *Answer) { a.Whole, a.Size, a.Rest = false, 5<<20, 1 })
	other := long.with(func(a *Answer) { a.Rest = 2 })
	if r := always(3, long, other); r.Verdict != Differ || len(r.Notes) == 0 {
		t.Errorf("%+v", r)
	}
}

// One wrong field in one of 10 000 answers is found, and nothing else.
func TestOneOfTenThousand(t *testing.T) {
	c := New(nil, nil)
	for i := range 10_000 {
		base := answerOf(fmt.Sprintf(`{"id":%d,"total":%d}`, i, i*3))
		head := base
		if i == 7_777 {
			head = answerOf(fmt.Sprintf(`{"id":%d,"total":%d}`, i, i*3+1))
		}
		if c.Compare(base, base, head) {
			c.Repeat(base, head, base, head)
		}
	}
	r := c.Result(10_000, 0.95)
	if r.Verdict != Differ || len(r.Differences) != 1 || r.Differing != 1 || r.Differences[0].Path != "$.total" || r.Differences[0].Example.Head != "23332" {
		t.Fatalf("%+v", r)
	}
	if r.Low < 2e-6 || r.Low > 3e-6 || r.High < 5e-4 || r.High > 6e-4 { // Clopper and Pearson: 0.0000025 to 0.000557
		t.Errorf("interval %g to %g", r.Low, r.High)
	}
}

// A difference that does not repeat is not proven, but is not left out either.
func TestOnceIsUnproven(t *testing.T) {
	c := New(nil, nil)
	base, wrong := answerOf(`{"a":1}`), answerOf(`{"a":2}`)
	for i := range 300 {
		head := base
		if i == 100 {
			head = wrong
		}
		if c.Compare(base, base, head) {
			c.Repeat(base, wrong, base, base)
		}
	}
	if r := c.Result(300, 0.95); r.Verdict != Unproven || len(r.Differences) != 1 || r.Differences[0].Proven || r.Differing != 0 {
		t.Errorf("%+v", r)
	}
}

// Where base varies a little, head may not vary much more.
func TestMoreOftenThanBase(t *testing.T) {
	play := func(headWrong int) Result {
		c := New(nil, nil)
		good, bad := answerOf(`{"state":"ok"}`), answerOf(`{"state":"busy"}`)
		for i := range 300 {
			first, head := good, good
			if i%50 == 0 {
				first = bad
			}
			if i%7 == 3 && i < headWrong*7 {
				head = bad
			}
			c.Compare(first, good, head)
		}
		return c.Result(300, 0.95)
	}
	if r := play(6); r.Verdict != Same || len(r.Varying) != 1 || r.Varying[0] != (Varying{"$.state", Value, 6, 6}) {
		t.Errorf("%+v", r)
	}
	if r := play(40); r.Verdict != Differ || len(r.Differences) != 1 || r.Differences[0].Base != 6 {
		t.Errorf("%+v", r)
	}
}

// random is a server whose answers have what varies by itself.
func random(rnd *rand.Rand, id int) *Answer {
	type item struct {
		SKU   string `json:"sku"`
		N     int    `json:"n"`
		Token string `json:"token"`
	}
	var items []item
	for i := range 8 {
		items = append(items, item{fmt.Sprintf("sku-%d-%d", id, i), i, fmt.Sprintf("%x", rnd.Uint64())})
	}
	rnd.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	tags := []string{"a", "b", "c", "d"}
	rnd.Shuffle(len(tags), func(i, j int) { tags[i], tags[j] = tags[j], tags[i] })
	body, _ := json.Marshal(map[string]any{
		"id": id, "request": rnd.Uint64(), "at": 1e9 + rnd.Int64N(1e9), "items": items, "tags": tags,
		"sessions": map[string]any{fmt.Sprintf("%x", rnd.Uint64()): map[string]int{"age": rnd.IntN(9)}},
		"maybe":    []any{nil, 1, "one"}[rnd.IntN(3)], "list": make([]int, rnd.IntN(5)),
	})
	a := answerOf(string(body))
	a.Header.Set("X-Request-Id", fmt.Sprintf("%x", rnd.Uint64()))
	a.Header.Set("Set-Cookie", fmt.Sprintf("sid=%x; Path=/", rnd.Uint64()))
	return a
}

// varies compares two servers whose answers vary alike, but for what change does to those of head.
func varies(seed uint64, n int, change func(map[string]any)) Result {
	rnd := rand.New(rand.NewPCG(seed, 1))
	head := func(i int) *Answer {
		a := random(rnd, i)
		if change != nil {
			var doc map[string]any
			_ = json.Unmarshal(a.Body, &doc)
			change(doc)
			a.Body, _ = json.Marshal(doc)
		}
		return a
	}
	c := New(nil, nil)
	for i := range n {
		b, h := random(rnd, i), head(i)
		if c.Compare(random(rnd, i), b, h) {
			c.Repeat(b, h, random(rnd, i), head(i))
		}
	}
	return c.Result(n, 0.95)
}

// Of 50 pairs of equal servers whose answers vary, none differs; and one wrong field in one shuffled element is found.
func TestVaryingServers(t *testing.T) {
	var bad []string
	for seed := range uint64(50) {
		if r := varies(seed, 100, nil); r.Verdict != Same || len(r.Differences) > 0 {
			bad = append(bad, fmt.Sprintf("%d: %+v", seed, r.Differences))
		}
	}
	if len(bad) > 0 {
		t.Errorf("%d of 50: %s", len(bad), bad[0])
	}
	r := varies(1, 100, func(doc map[string]any) {
		for _, v := range doc["items"].([]any) {
			if v := v.(map[string]any); v["n"] == 3.0 {
				v["n"] = 4.0
			}
		}
	})
	if r.Verdict != Differ || len(r.Differences) != 1 || r.Differences[0].Path != "$.items[*].n" || r.Differing != 100 {
		t.Errorf("%+v", r.Differences)
	}
	if r := varies(1, 100, func(doc map[string]any) { delete(doc, "at"); doc["request"] = "seven" }); len(r.Differences) != 2 || r.Differences[0].Kind != Missing || r.Differences[1].Kind != Type {
		t.Errorf("%+v", r.Differences)
	}
}

// Hostile bodies cost bounded memory.
func TestHostileBodies(t *testing.T) {
	deep := answerOf(strings.Repeat("[", MostKept/2) + strings.Repeat("]", MostKept/2))
	nested := answerOf(strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000))
	nested2 := answerOf(strings.Repeat(`{"a":`, 9_000) + "2" + strings.Repeat("}", 9_000))
	keys := func(prefix string) *Answer {
		var b strings.Builder
		b.WriteString("{")
		for i := 0; b.Len() < MostKept-100; i++ {
			fmt.Fprintf(&b, `"%s%d":%d,`, prefix, i, i)
		}
		return answerOf(b.String() + `"z":1}`)
	}
	list := func(n int) *Answer {
		return answerOf("[" + strings.Repeat(fmt.Sprintf(`{"a":%d,"b":1},`, n), MostKept/20) + "0]")
	}
	for name, pair := range map[string][2]*Answer{
		"deep": {deep, answerOf("[" + string(deep.Body[1:len(deep.Body)-1]) + " ]")}, "nested": {nested, nested2},
		"keys": {keys("a"), keys("b")}, "list": {list(1), list(2)}, "number": {answerOf("[1e999999999]"), answerOf("[" + strings.Repeat("9", 100_000) + "]")},
	} {
		before := live()
		r := always(2, pair[0], pair[1])
		if r.Verdict != Differ {
			t.Errorf("%s: %+v", name, r)
		}
		for _, d := range r.Differences {
			if len(d.Path) > 10_000 || len(d.Example.Base) > 400 {
				t.Errorf("%s: a path of %d bytes, an example of %d", name, len(d.Path), len(d.Example.Base))
			}
		}
		if used := live() - before; used > 8<<20 {
			t.Errorf("%s: %d bytes are left", name, used)
		}
	}
	// Hundreds of thousands of different names over time.
	c := New(nil, nil)
	before := live()
	for i := range 500 {
		var b strings.Builder
		for j := range 200 {
			fmt.Fprintf(&b, `,"k%d":{"x%d":1}`, j, i*200+j)
		}
		c.Compare(answerOf(`{"a":1`+b.String()+`}`), answerOf(`{"a":1`+strings.ReplaceAll(b.String(), "x", "y")+`}`), answerOf(`{"a":1`+strings.ReplaceAll(b.String(), "x", "z")+`}`))
	}
	if used := live() - before; used > 32<<20 || len(c.rows) > mostRows {
		t.Errorf("%d bytes, %d rows", used, len(c.rows))
	}
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestKeptIsBounded(t *testing.T) {
	var k Kept
	big := Answer{Body: make([]byte, MostKept)}
	for k.Add(big) {
		if k.Len() > 1000 {
			t.Fatal("no bound")
		}
	}
	if n := k.Len(); n < 100 || n > 130 {
		t.Errorf("%d answers of 1 MiB", n)
	}
}

func TestParsePath(t *testing.T) {
	for text, want := range map[string]string{"status": "status", "body": "body", "header x-id:": "header X-Id", "header set-cookie sid": "header Set-Cookie sid", "$.items[3].id": "$.items[*].id", "$": "$"} {
		if got, err := ParsePath(text); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "items.id", "header", "headers x", "$x"} {
		if got, err := ParsePath(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
	if !within("$.a.b", "$.a") || !within("$.a[*]", "$.a") || within("$.ab", "$.a") || !within("header Set-Cookie sid", "header Set-Cookie") || !within("$.a", "$") {
		t.Error("within")
	}
}

// No confidential text is shown.
func TestHidden(t *testing.T) {
	c := New(nil, func(s string) string { return strings.ReplaceAll(s, "tiger", "xxxxx") })
	a, b := answerOf(`{"k":"tiger"}`), answerOf(`{"k":"lion"}`)
	a.Request = "GET /?k=tiger"
	c.Compare(a, a, b)
	if e := c.Result(1, 0.95).Differences[0].Example; e.Base != `"xxxxx"` || e.Request != "GET /?k=xxxxx" {
		t.Errorf("%+v", e)
	}
}

// An element that was replaced among equal ones is the only difference, wherever it is.
func TestListsOfAnyOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + rnd.IntN(30)
		var a []string
		for i := range n {
			a = append(a, fmt.Sprintf(`{"id":%d,"group":%d,"name":"n%d"}`, i, i%3, i))
		}
		b := slices.Clone(a)
		i := rnd.IntN(n)
		b[i] = strings.Replace(b[i], `"name":"n`, `"name":"m`, 1)
		rnd.Shuffle(n, func(i, j int) { b[i], b[j] = b[j], b[i] })
		r := always(2, answerOf("["+strings.Join(a, ",")+"]"), answerOf("["+strings.Join(b, ",")+"]"))
		var paths []string
		for _, d := range r.Differences {
			if d.Kind != Order {
				paths = append(paths, d.Path)
			}
		}
		if !slices.Equal(paths, []string{"$[*].name"}) {
			t.Fatalf("%v: %s %s", paths, a, b)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []string{"equal", "varying"} {
		b.Run(kind, func(b *testing.B) {
			c := New(nil, nil)
			list := []*Answer{random(rnd, 1), random(rnd, 1), random(rnd, 1)}
			if kind == "equal" {
				list = []*Answer{list[0], list[0], list[0]}
			}
			b.ReportAllocs()
			b.ReportMetric(float64(len(list[0].Body)), "body-bytes")
			for b.Loop() {
				c.Compare(list[0], list[1], list[2])
			}
		})
	}
}
