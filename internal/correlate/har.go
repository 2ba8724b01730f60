package correlate

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"

	"github.com/taktload/takt/internal/figure"
	"github.com/taktload/takt/internal/http1"
	"github.com/taktload/takt/internal/trace/formats"
)

// maxContent bounds the bodies that are kept of a HAR file together.
const maxContent = 256 << 20

// FromHAR are the exchanges of a HAR file, which a browser's developer tools write, and what is to be said of them. The error
// is that of a file without any.
func FromHAR(in io.Reader) (list []Exchange, notes []string, err error) {
	kept, lacking, odd := 0, 0, 0
	bad, err := formats.ReadHAR(in, func(x *formats.HARExchange) {
		e, ok := fromHAR(x)
		if !ok {
			odd++
			return
		}
		if kept += len(e.Content); kept > maxContent {
			e.Content = nil
		}
		if x.ContentLacked || kept > maxContent {
			lacking++
		}
		list = append(list, e)
	})
	if err != nil && len(list) == 0 {
		return nil, nil, err
	}
	if err != nil {
		notes = append(notes, fmt.Sprintf("the file ends early: %v; takt uses the %s before that", err, figure.Plural(len(list), "request")))
	}
	if bad += odd; bad > 0 {
		notes = append(notes, fmt.Sprintf("entries that takt cannot read: %d", bad))
	}
	if lacking > 0 {
		notes = append(notes, fmt.Sprintf("answers whose content the file does not have: %d; values that they gave are not found: save the file with content, in the Network panel before the page is left", lacking))
	}
	return list, notes, nil
}

// fromHAR is an entry as an exchange; false: it has no URL.
func fromHAR(x *formats.HARExchange) (e Exchange, ok bool) {
	u, err := url.Parse(x.URL)
	if err != nil || u.Host == "" {
		return e, false
	}
	e = Exchange{
		Began: x.Started, Answered: x.Started.Add(x.Wait), Ended: x.Started.Add(x.Took), Method: x.Method, URL: u,
		Header: headerOf(x.Header), Body: x.Body, Lacks: x.Lacks, Status: x.Status, Answer: headerOf(x.Answer), Size: x.Size,
	}
	if x.Type != "" && e.Header.Get("Content-Type") == "" && len(e.Body) > 0 {
		e.Header.Set("Content-Type", x.Type)
	}
	if e.Status < 100 || e.Status > 599 {
		e.Status = 0
	}
	if HasText(e.Answer) {
		e.Content = bytes.Clone(x.Content[:min(len(x.Content), http1.CheckBytes)])
	}
	return e, true
}

func headerOf(list [][2]string) http.Header {
	h := http.Header{}
	for _, f := range list {
		name := textproto.CanonicalMIMEHeaderKey(f[0])
		if name == "Set-Cookie" { // Chromium puts several into one line
			for line := range bytes.SplitSeq([]byte(f[1]), []byte("\n")) {
				h.Add(name, string(line))
			}
			continue
		}
		h.Add(name, f[1])
	}
	return h
}
