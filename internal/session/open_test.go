package session

import (
	"strings"
	"testing"
)

// A source may have values that the round has, also those of captures before it in the same step. A value stands for itself,
// whatever a server sends.
func TestOpenSources(t *testing.T) {
	const (
		list = `{"items":[{"id":"a","sku":"one"},{"id":"b.*\"(","sku":"two"},{"id":"\\","sku":"three"},{"id":"it's","sku":"four"}],"b":{"c":7},"b.*\"(":{"c":9},"n":[{"id":17,"v":1},{"id":-1.5,"v":2}],"5":{"c":3}}`
		page = `<a data-id='b.*"(' data-sku=two>2</a><a data-id="\" data-sku=three>3</a><p id=5a>fifth</p><p id=x.5>sixth</p>; b.*"( is 5, bxx"( is 6`
	)
	for source, want := range map[string]string{
		`json items.#(id=="{{id}}").sku`:        "two",
		`json items.#(id=="{{ slash }}").sku`:   "three",
		`json {{key}}.c`:                        "7",
		`json $.items[?(@.id=="{{slash}}")].id`: `\`,
		`json {{id}}.c`:                         "9",
		`json $["{{id}}"].c`:                    "9",
		`json $['{{id}}'].c`:                    "9",
		`json {{five}}.c`:                       "3",
		`json items.#(id=={{id}}).sku`:          "two",
		`json items.#(id=="{{quote}}").sku`:     "four",
		`json n.#(id=={{seventeen}}).v`:         "1",
		`json n.#(id=={{less}}).v`:              "2",
		`json b.{{evil}}`:                       "does not have it",
		`json items.#(id=="{{evil}}").sku`:      "does not have it",
		`css a[data-id={{id}}] attr data-sku`:   "two",
		`css a[data-id='{{id}}'] attr data-sku`: "two",
		`css #{{five}}a`:                        "fifth",
		`css #{{evil}}`:                         "does not have it",
		`css #x\.{{five}}`:                      "sixth",
		`css a[data-id="{{id}}"] attr data-sku`: "two",
		`css a[data-id="{{slash}}"]`:            "3",
		`regexp {{id}} is (\d)`:                 "5",
		`regexp (\S+) is {{five}}`:              `b.*"(`,
		`header Location regexp /{{five}}/(\d)`: "8",
		`json items.#(id=="{{none}}").sku`:      "there is no value {{none}}",
		`header Location regexp /{{none}}/(\d)`: "there is no value {{none}}",
	} {
		body := list
		if !strings.HasPrefix(source, "json") {
			body = page
		}
		c, err := ParseCapture("x " + source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		var s Session
		for name, value := range map[string]string{"id": `b.*"(`, "slash": `\`, "key": "b", "five": "5", "seventeen": "17", "less": "-1.5", "quote": "it's", "evil": strings.Repeat("@pretty|", 1000) + "p, a > b"} {
			s.Set(name, []byte(value))
		}
		err = s.Field([]Capture{c}, Place{Path: "/"}, []byte("Location"), []byte("/6/9 /5/8"))
		if err == nil {
			err = s.Body([]Capture{c}, []byte(body), nil)
		}
		if got := string(s.Value("x")); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %q", source, got, err, want)
		}
	}
	for source, want := range map[string]string{
		"regexp {{a b}}": "begin no value", "regexp {{": "begin no value", "header X-{{a}}": "no effect", "cookie {{a}}": "no effect", "body {{a}}": "not a part", "regexp {{a}}(": "missing closing",
		"css a[{{a}}": "",
	} {
		if _, err := ParseCapture("x " + source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}
