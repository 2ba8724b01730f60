package http

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
)

// A header before the first step is one of all steps that have its values and no such header themselves; Content-Type is one
// of those with a body of their own.
func TestHeadersOfAllSteps(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	r := scenarioRun(t, "-c 1 -n 5 -H X-All:flag -H X-Flag:flag", `# for all
Content-Type: application/json
Authorization: Bearer {{token}}

X-All: {{n}}-{{.Seq}}

POST /login
@set n 7
@body {}
@capture token json token

POST /form
@form a b

GET /own
X-All: own

POST /type
Content-Type: text/plain
@body x

GET /again
@repeat n in 3..3
`, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[q.URL.Path] = fmt.Sprint(q.Header.Values("Content-Type"), q.Header.Values("Authorization"), q.Header.Values("X-All"), q.Header.Values("X-Flag"))
		fmt.Fprint(w, `{"token":"t"}`)
	})
	want := map[string]string{
		"/login": "[application/json] [] [7-0] [flag]", "/form": "[application/x-www-form-urlencoded] [Bearer t] [7-0] [flag]", "/own": "[] [Bearer t] [own] [flag]",
		"/type": "[text/plain] [Bearer t] [7-0] [flag]", "/again": "[] [Bearer t] [3-0] [flag]",
	}
	if r.Counts.OK != 5 || !maps.Equal(got, want) {
		t.Errorf("%v, want %v; %+v", got, want, r.Errors)
	}
}
