package format_test

import (
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// Nothing that comes from a target or a user is taken for Markdown.
func TestMarkdownIsSafe(t *testing.T) {
	r := base()
	r.Counts = takt.Counts{Scheduled: 4, Sent: 4, OK: 1, Failed: 3}
	r.Variables["path"] = "/a|b`c"
	r.Labels = map[string]string{"branch": "`x``"}
	r.Errors = []takt.ErrorClass{
		{Class: "a|b", Count: 2, Sample: "![x](http://evil/) @all <img> | one\ntwo"},
		{Class: "bare", Count: 1},
	}
	warn(r, "finish", "*_[@team](x)_* `#1` <b> &lt; ~~ ! \\ |\n# head")
	got := replay(t, "markdown", r)
	for _, want := range []string{
		"### takt: valid run of ``http GET 127.0.0.1:8080/a|b`c``\n",
		"- ``` branch=`x`` ```\n",
		"| `a\\|b` | 2 | 50.00 % | `![x](http://evil/) @all <img> \\| one two` |\n",
		"| `bare` | 1 | 25.00 % |  |\n",
		"- \\*\\_\\[@\u200bteam\\](x)\\_\\* \\`#\u200b1\\` \\<b\\> \\&lt; \\~\\~ ! \\\\ \\| #\u200b head (`finish`)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestMarkdownBoundsErrors(t *testing.T) {
	r := base()
	r.Counts = takt.Counts{Scheduled: 100, Sent: 100, OK: 40, Failed: 60}
	for i := range 12 {
		r.Errors = append(r.Errors, takt.ErrorClass{Class: string(rune('a' + i)), Count: 5})
	}
	if got := replay(t, "markdown", r); !strings.Contains(got, "| `j` | 5 | 5.00 % |  |\n| and 2 more kinds | 10 | 10.00 % | |\n") || strings.Contains(got, "`k`") {
		t.Error(got)
	}
}

// What must not be overlooked stands above the figures, also both at once.
func TestMarkdownVerdict(t *testing.T) {
	r := base()
	r.Verdict = takt.Invalid
	want := "### takt: invalid run of `http GET 127.0.0.1:8080/orders`\n\n**The generator, not the target, shaped these figures.** The warnings say how.\n\n**Not one operation succeeded.**\n\n- 1000/s intended"
	if got := replay(t, "markdown", r); !strings.HasPrefix(got, want) {
		t.Error(got)
	}
}
