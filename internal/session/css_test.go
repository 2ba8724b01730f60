package session

import (
	"fmt"
	"strings"
	"testing"
)

const page = `<!DOCTYPE html><html lang=de-AT><head><title>Shop &amp;
  Co</title><meta name="csrf" content='m1'><script>var a = "<input name=csrf value=no>";</script></head>
<body class="a  b">
<form id=login action="/in?a=1&amp;b=2"><!-- <input name=csrf value=comment> -->
<input type=hidden name=csrf_token VALUE="t1"><input type=text name=user value="">
<input type="hidden" name="csrf_token" value="t2"/></form>
<ul class="md:list"><li>one<li data-x="x y">two <b>bold</b><li>three</ul><p>first<p>second<div><p>inner</div>
<table><tr><th>h<td>1<td>2<tr><td>3<td>4</table>
<svg><path d="1"/><path d="2"/></svg><br><h1 id="1x">After</h1><h2> spread
	over  lines </h2><a href="/x/1">x</a><a href="/y/2">y</a>`

// Selectors find what browsers find.
func TestCSS(t *testing.T) {
	for selector, want := range map[string]string{
		"title":                                        "Shop & Co",
		"meta[name=csrf] attr content":                 "m1",
		"input[name=csrf_token] attr value":            "t1|t2",
		`form#login > input[type="hidden"] attr value`: "t1|t2",
		"form input:first-child attr VALUE":            "t1",
		"input:nth-child(3) attr value":                "t2",
		"input:nth-child(2n+1) attr value":             "t1|t2",
		"input:nth-child(even) attr name":              "user",
		"input:nth-child(-n+2) attr name":              "csrf_token|user",
		"input + input attr name":                      "user|csrf_token",
		"input ~ input[name=csrf_token] attr value":    "t2",
		"input:not([type=hidden]) attr name":           "user",
		"form attr action":                             "/in?a=1&b=2",
		"li":                                           "one|two bold|three",
		"ul > li:nth-child(2)":                         "two bold",
		"li > b, h2":                                   "bold|spread over lines",
		`ul.md\:list > li:nth-of-type(3)`:              "three",
		"[data-x~=y]":                                  "two bold",
		"body.b p":                                     "first|second|inner",
		"body > p":                                     "first|second",
		"div > p":                                      "inner",
		"body > table > tbody > tr:nth-child(2) > td:nth-child(2)": "4",
		"th ~ td":                        "1|2",
		"tr td:first-of-type":            "1|3",
		"svg path:nth-of-type(2) attr d": "2",
		"svg + br + h1":                  "After",
		`#\31 x`:                         "After",
		"a[href^='/x'] attr href":        "/x/1",
		`a[href$="2"], a[href*="x/"]`:    "x|y",
		"html|=x":                        "!",
		"[lang|=de] > head > title":      "Shop & Co",
		"script":                         `var a = "<input name=csrf value=no>";`,
		"p input":                        "-",
		"li attr data-y":                 "-",
		"":                               "!", ">": "!", "a >": "!", "a,": "!", "a b >> c": "!", "[": "!", "[a": "!", "[a=": "!", `[a="`: "!", "[a=b": "!", "[a!=b]": "!", ".": "!", "#": "!", ":hover": "!",
		"a:has(b)": "!", ":nth-child(x)": "!", ":nth-child(2": "!", ":not(a b)": "!", ":not(": "!", `\`: "!", "a{": "!", "a attr": "-", strings.Repeat("a ", 65): "!",
	} {
		s, err := ParseSource("css " + selector)
		if err != nil {
			if want != "!" {
				t.Errorf("%s: %v", selector, err)
			}
			continue
		}
		values, err := s.FromBody([]byte(page))
		var words []string
		for _, v := range values {
			words = append(words, string(v))
		}
		got := strings.Join(words, "|")
		if err == errMissing {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, %v; want %q", selector, got, err, want)
		}
	}
}

// A check may have > between elements, and as a comparison with a number or a value.
func TestCSSInChecks(t *testing.T) {
	for text, want := range map[string]string{
		"css ul > li": " ", "css ul > li == two bold": " ", "css ul > li contains five": "it is", "css td > 3": " ", "css td > 4": "it is",
		"css form > input attr value != t1": " ", "css ul > b": "does not have it", "css body > table td >= 4": " ", "css td > {{n}}": " ",
	} {
		c, err := ParseCheck(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		values, err := c.Body([]byte(page))
		if err == nil {
			err = c.Holds(values, strings.ReplaceAll(c.Value, "{{n}}", "2"))
		}
		if (err == nil) != (want == " ") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// hostile are pages of 1 MiB that some parsers need the square of the time for, or a stack as deep.
func hostile() map[string]string {
	pages := map[string]string{}
	for _, unit := range []string{
		"<div>", "<a>", "<b><p>", "</p>", "<p>", "<table>", "<table><tr><td>", "<html a>", "<x a a=1 b>", "<svg>", "<path/>", "<li>", "<!--", "<!-->", "<script>", "<title>", "&amp", "&#x41;", "x ", "<", "</", "<a b=\"", "\x00", "<td>", "<select><option>", "<p><div>x</div>", "<template>", "</table>",
	} {
		pages[unit] = strings.Repeat(unit, 1<<20/len(unit))
	}
	deep := strings.Repeat("<div>", 500)
	pages["wide and deep"] = deep + strings.Repeat("<i>x</i>", (1<<20-len(deep))/8)
	var attrs strings.Builder
	attrs.WriteString("<a")
	for i := 0; attrs.Len() < 1<<20; i++ {
		fmt.Fprintf(&attrs, " a%d", i)
	}
	pages["attributes"] = attrs.String() + ">x"
	return pages
}

// A hostile page costs no more than its length, and does not end takt.
func TestCSSOfHostilePages(t *testing.T) {
	for _, selector := range []string{"div div p ~ p ~ p + i:nth-of-type(2n), a[b^=c] x", "i, div, p, li", "a attr b"} {
		s, err := ParseSource("css " + selector)
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range hostile() {
			values, err := s.FromBody([]byte(body))
			if name == "<div>" && err != errDeep || err == nil && len(values) == 0 {
				t.Errorf("%s of %s: %d values, %v", selector, name, len(values), err)
			}
		}
	}
}

func FuzzCSS(f *testing.F) {
	f.Add("ul > li:nth-child(2), #a.b[c='d'] ~ e attr f", page)
	f.Fuzz(func(_ *testing.T, selector, body string) {
		if s, err := ParseSource("css " + selector); err == nil {
			_, _ = s.FromBody([]byte(body))
		}
	})
}
