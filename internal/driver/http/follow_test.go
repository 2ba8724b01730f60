package http

import (
	"fmt"
	"github.com/taktload/takt/internal/driver/http/script"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A step follows redirects as a browser does: with the cookies of each answer, as GET without a body where the status says
// so, to the hosts of the scenario only. Checks and captures are about the last answer.
func TestFollow(t *testing.T) {
	j := &journal{}
	shop := func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		j.note(fmt.Sprint(q.Method, " ", q.RequestURI, " ", string(body), q.Header["Cookie"], q.Header["Authorization"], q.Header["Content-Type"]))
		status := map[string]int{"/see": 303, "/found": 302, "/keep": 307, "/gone": 301, "/on/next": 302}[q.URL.Path]
		if to := q.URL.Query().Get("to"); status > 0 {
			w.Header().Set("Location", to)
			w.Header().Set("Set-Cookie", "at="+q.URL.Path[1:]+"; Path=/")
			w.WriteHeader(status)
			return
		}
		_, _ = io.WriteString(w, `{"home":"`+q.URL.Path+`"}`)
	}
	other := httptest.NewUnstartedServer(http.HandlerFunc(shop))
	other.Config.Protocols = new(http.Protocols)
	other.Config.Protocols.SetHTTP1(true)
	other.Config.Protocols.SetUnencryptedHTTP2(true)
	other.Start()
	t.Cleanup(other.Close)
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a host that only an answer names was loaded") }))
	t.Cleanup(stranger.Close)
	auth := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	const bearer, form, text = "[Bearer b]", "[application/x-www-form-urlencoded]", "[text/html]"
	for _, c := range []struct {
		step  string
		want  []string
		fails string // class
	}{
		{"POST /see?to=/home\n@form a b", []string{"POST /see?to=/home a=b[]" + bearer + form, "GET /home [at=see]" + bearer + "[]"}, ""},
		{"POST /found?to=home%23top\n@body x", []string{"POST /found?to=home%23top x[]" + bearer + text, "GET /home [at=found]" + bearer + "[]"}, ""},
		{"PUT /found?to=/home\n@body x", []string{"PUT /found?to=/home x[]" + bearer + text, "PUT /home x[at=found]" + bearer + text}, ""},
		{"POST /keep?to=/on/next?to=home\n@body x", []string{"POST /keep?to=/on/next?to=home x[]" + bearer + text, "POST /on/next?to=home x[at=keep]" + bearer + text, "GET /on/home [at=on/next]" + bearer + "[]"}, ""},
		{"GET /gone?to=" + auth + "/home", []string{"GET /gone?to=" + auth + "/home [][Bearer b][]", "GET /home [][][]"}, ""},
		{"GET /see?to=" + stranger.URL, []string{"GET /see?to=" + stranger.URL + " [][Bearer b][]"}, classRequest},
		{"GET /gone?to=/home\n@check status 301", []string{"GET /gone?to=/home [][Bearer b][]", "GET /home [at=gone][Bearer b][]"}, "3xx"},
		{"GET /on/next?to=next?to=next?to=next\n@follow 2", nil, script.ClassCheck},
	} {
		if !strings.Contains(c.step, "@follow") {
			c.step += "\n@follow"
		}
		file := c.step + "\n@capture home json home\n\nGET " + auth + "/last{{home}}\n"
		for _, flags := range append(slices.Clone(protocols[:2]), "--rate 10/s ") {
			j.lines = nil
			n := "-n 1 "
			if !strings.Contains(flags, "--rate") {
				n = fmt.Sprintf("-c 1 -n %d ", max(1, len(c.want)+1))
			}
			if c.fails != "" && !strings.Contains(flags, "--rate") {
				continue // the user would go on
			}
			r := scenarioRun(t, flags+n+"--bearer b --fail-on 3xx,4xx", file, shop)
			for i := range j.lines {
				j.lines[i] = strings.NewReplacer("] [", "][", " [", "[").Replace(j.lines[i])
			}
			home := "/home"
			if strings.Contains(c.step, "/on/") {
				home = "/on/home"
			}
			want := append(slices.Clone(c.want), "GET /last"+home+"[][][]")
			if c.fails != "" {
				want = c.want
			}
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], " [", "[")
			}
			if c.want != nil && c.fails != "3xx" && !slices.Equal(j.lines, want) || (c.fails != "") != (r.Counts.Failed == 1) || r.Warned("redirects") != (c.fails == script.ClassCheck) {
				t.Errorf("%s%q: %q, want %q; %+v, %v", flags, c.step, j.lines, want, r.Errors, r.Warnings)
			}
			if c.fails != "" && c.fails != "3xx" && r.Errors[0].Class != c.fails {
				t.Errorf("%q: %+v", c.step, r.Errors)
			}
		}
	}
	wantFault(t, "GET /a\n@follow no\n", "scenario:2: \"no\" is not a number of redirects")
}

// A Location with blanks and other characters that no URL has is followed as browsers do it, percent-encoded.
func TestFollowEncodes(t *testing.T) {
	for location, want := range map[string]string{
		`/my home/ü?q=a "b"%20<c>#top`: `/my%20home/%C3%BC?q=a%20%22b%22%20%3Cc%3E`,
		"my home":                      "/my%20home",
		"?q=a b":                       "/from?q=a%20b",
		"/plain/%20?q=%":               "/plain/%20?q=%",
	} {
		for _, flags := range protocols {
			var got atomic.Value
			r := scenarioRun(t, flags+"--rate 10/s -n 1", "GET /from\n@follow\n", func(w http.ResponseWriter, q *http.Request) {
				if q.RequestURI == "/from" {
					w.Header()["Location"] = []string{location}
					w.WriteHeader(302)
					return
				}
				got.Store(q.RequestURI)
			})
			if got.Load() != want || r.Counts.OK != 2 {
				t.Errorf("%s%q: asked for %v, want %s; %+v, %+v", flags, location, got.Load(), want, r.Counts, r.Errors)
			}
		}
	}
}
