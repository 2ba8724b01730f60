package reader

import (
	"io"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// Of a load file a replay at a rate needs no times, as Play-it-Again-Sam never does.
func TestLoadWithoutTimes(t *testing.T) {
	const text = "01-Mar-2017 17:59:59 0 0 0 85453 a 200 PUT\n2017-11-27 09:427.274 0.004330 0.000000 0.000000 0 b 200 GET\nsome text x y 0 7 c 404 GET\n2026-02-30 10:00:00 0 0 0 7 d 200 GET\n"
	uris, c, err := readAll(t, strings.NewReader(text), Options{Format: "load", NoTimes: true})
	if err != io.EOF || strings.Join(uris, " ") != "/a /b /c /d" || c.Bad() != 0 || c.Left.Of(trace.Without, parse.Untimed).Count != 3 {
		t.Errorf("%q %+v %v", uris, c, err)
	}
	uris, c, err = readAll(t, strings.NewReader("x y 0 0 0 1 e 200 GET\n"), Options{}) // found by itself
	if err != io.EOF || c.Bad() != 1 {
		t.Errorf("%q %+v %v", uris, c, err)
	}
	uris, c, err = readAll(t, strings.NewReader(text), Options{Format: "load"})
	if err != io.EOF || strings.Join(uris, " ") != "/a" || c.Bad() != 3 || !strings.HasSuffix(bad(c).Why, "a replay at a rate, as with --tps, does not need it") {
		t.Errorf("%q %+v %v", uris, c, err)
	}
}
