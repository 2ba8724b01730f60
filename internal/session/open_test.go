package session

import (
	"strings"
	"testing"
)

// A source may have values that the round has, also those of captures before it in the same step. A value stands for itself,
// whatever a server sends.
func TestOpenSources(t *testing.T) {
	const (
		list = `{"items":[{"id":"a","sku":"one"},{"id":"b.*\"(","sku":"two"},{"id":"\\","sku":"three"}],"b":{"c":7}}`
		page = `<a data-id='b.*"(' data-sku=two>2</a><a data-id="\" data-sku=three>3</a><input name="b.*&quot;(" value=x>; b.*"( is 5, bxx"( is 6`
	)
	for source, want := range map[string]string{
		`json items.#(id=="{{id}}").sku`:        "two",
		`json items.#(id=="{{ slash }}").sku`:   "three",
		`json {{key}}.c`:                        "7",
		`json $.items[?(@.id=="{{slash}}")].id`: `\`,
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
		for name, value := range map[string]string{"id": `b.*"(`, "slash": `\`, "key": "b", "five": "5"} {
			s.Set(name, []byte(value))
		}
		err = s.Field([]Capture{c}, "/", false, []byte("Location"), []byte("/6/9 /5/8"))
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
