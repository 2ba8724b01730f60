// Package html writes what takt finds as one HTML page that needs nothing else: no network, no
// other file, and no script to be read. The reports are inside, so takt can read them back.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"

	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/pkg/takt"
)

// webPage is a page. All its texts are escaped by the template, except charts.
type webPage struct {
	Title    string
	Subtitle []string
	Verdict  verdictWord
	Headline string
	Next     string   // what to do
	Criteria string   // below Next
	Notes    []string // below the headline
	Checks   []check  // assertions
	Cards    []part.Card
	Sections []section
	Markdown string // for the clipboard

	Frame       *Frame        // nil: a file that needs nothing else
	Body        template.HTML // of a page that another package writes
	Data        template.HTML // the reports, between document.PageOpen and document.PageClose
	JSON        string        // the answer of a command whose page has no reports
	Style       template.CSS
	Script      template.JS
	Policy      string
	Tool, About string
}

// verdictWord is a word with its tone: good, bad, warn or plain.
type verdictWord struct {
	Text string
	Tone part.Tone
}

// check is an assertion and its result.
type check struct {
	Word               string
	Tone               part.Tone
	Expression, Reason string
}

// section is a part of the page with a heading.
type section struct {
	ID, Title string
	Class     string
	Lead      string
	Blocks    []block
}

// block is a picture, a table, or a list of facts; several in this order.
type block struct {
	Title   string
	Notes   []string
	Tabs    []tab // alternatives; one is shown
	Picture template.HTML
	Legend  []legend
	Facts   []fact
	Table   *table
	Fold    string // heading of a folded table; "": the table is open
	Pre     string
	Help    string // below a picture
}

type tab struct {
	ID, Name string
	Checked  bool
	Picture  template.HTML
}

type legend struct{ Class, Text string }

type fact struct{ Name, Text string }

// table is a table of texts.
type table struct {
	ID, Caption string
	Head        []string
	Texts       []bool // which columns are aligned at the left
	Rows        [][]cell
	RowIDs      []string // anchor of each row; "": none
}

// cell is what a cell of a table says.
type cell struct {
	Text string
	Tone part.Tone // "": as other texts
}

var (
	//go:embed assets/page.css
	style string
	//go:embed assets/page.js
	script string
	//go:embed assets/page.tmpl
	layout string
)

// parsed is the template, which takes a millisecond to parse.
var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"figure": func(t *table, column int) bool { return !t.Texts[column] }}).Parse(layout))
})

// write writes the page with the reports in it.
func (d *webPage) write(w io.Writer, reports ...*takt.Report) error {
	if len(reports) > 0 && d.Frame == nil {
		packed, err := pack(reports)
		if err != nil {
			return err
		}
		d.Data = template.HTML(packed) // base64: nothing in it closes an element
	}
	d.Style, d.Script = template.CSS(style), template.JS(script)
	d.Policy = policy("form-action 'none'")
	if d.Frame != nil {
		d.Policy = Policy()
	}
	return parsed().Execute(w, d)
}

// policy is the Content-Security-Policy of a page: nothing but its own script runs.
func policy(more string) string {
	return "default-src 'none'; img-src data:; style-src '" + hash(style) + "'; script-src '" + hash(script) + "'; base-uri 'none'; " + more
}

// Policy is the policy of a page in a Frame, which may also ask its own server.
func Policy() string { return policy("connect-src 'self'; form-action 'self'") }

// hash names a text in a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
