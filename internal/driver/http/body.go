package http

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/value"
)

// durationText matches the -d 30s of wrk, wrk2, fortio and k6.
var durationText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(ms|s|m|h)$`) })

// readBody reads the body of all requests.
func (o *Options) readBody() error {
	o.body = []byte(o.Body)
	if file, ok := strings.CutPrefix(o.Body, "@"); ok {
		return value.Faultf("-d %.60q would send these characters, not what is in the file; give -D %.60s for the file, also to send a text that begins with @", o.Body, cmp.Or(file, "FILE"))
	}
	if strings.EqualFold(o.Method, "GET") && durationText().MatchString(o.Body) {
		return value.Faultf("-d %.60q is the body of a GET; write -z %.60s for the duration, or -m POST if a body is meant", o.Body, o.Body)
	}
	if o.BodyFile == "" {
		return nil
	}
	if o.Body != "" {
		return value.Faultf("both -d and -D are given; keep one, the body is either the argument or the file")
	}
	var err error
	if o.BodyFile == stdin {
		o.body, err = httpreq.ReadAtMost("stdin", o.standardInput(), 0, httpreq.MaxBody)
	} else {
		o.body, err = httpreq.ReadFile(o.BodyFile, httpreq.MaxBody)
	}
	if err != nil {
		return value.Faultf("cannot read the body: %w; check -D", err)
	}
	return nil
}

// templateBody is the body as far as placeholders count in it.
func (o *Options) templateBody() string {
	if o.BodyFile != "" && !o.BodyTemplate {
		return ""
	}
	return string(o.body)
}

func (o *Options) standardInput() io.Reader {
	if o.Stdin == nil {
		return bytes.NewReader(nil)
	}
	return o.Stdin
}
