package formats

import (
	"net/url"
	"strings"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/stamp"
)

// body is the body that was sent. For a form without a text it is made from the parameters.
// The archive does not contain the body of a form with files.
func (b *harBody) body() []byte {
	if b.Text != "" || !strings.HasPrefix(b.MimeType, "application/x-www-form-urlencoded") {
		return []byte(b.Text)
	}
	var pairs []string
	for _, p := range b.Params {
		pairs = append(pairs, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
	}
	return []byte(strings.Join(pairs, "&"))
}

// The headers of an archive that are not sent again.
const (
	// ownHeaders belong to one connection (RFC 9110, 7.6.1), or takt sets them itself.
	ownHeaders = " connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings expect host content-length accept-encoding "
	// privateHeaders belong to the user of the browser.
	privateHeaders = " authorization cookie proxy-authorization referer user-agent "
)

// unfitHeader is the name that counts the headers which a request cannot contain.
const unfitHeader = "not fit for a request"

// header stores the lines of a header that are sent again. It counts the private and unfit
// lines that it leaves out, and not ownHeaders.
func header(f *fill.Line, list []harHeader, bodyType string) {
	r := f.Rec
	at := len(r.Memory)
	for _, h := range list {
		name := " " + strings.ToLower(h.Name) + " "
		switch {
		case strings.HasPrefix(h.Name, ":") || strings.Contains(ownHeaders, name):
		case name == " referer ":
			r.Referer = []byte(h.Value)
			f.Left.LeaveOut("referer")
		case name == " user-agent ":
			r.Agent = []byte(h.Value)
			f.Left.LeaveOut("user-agent")
		case strings.Contains(privateHeaders, name):
			if name == " cookie " {
				r.Cookie = []byte(h.Value)
			}
			f.Left.LeaveOut(strings.TrimSpace(name))
		case !isField(h.Name, h.Value):
			f.Left.LeaveOut(unfitHeader)
		default:
			r.Typed = r.Typed || name == " content-type "
			r.Memory = trace.AppendField(r.Memory, h.Name, h.Value)
		}
	}
	if !r.Typed && bodyType != "" && len(r.Body) > 0 && isField("Content-Type", bodyType) {
		r.Typed = true
		r.Memory = trace.AppendField(r.Memory, "Content-Type", bodyType)
	}
	r.Header = r.Memory[at:]
}

// isField reports whether a request header can contain this line (RFC 9110, 5).
func isField(name, value string) bool {
	const signs = "!#$%&'*+-.^_`|~"
	for _, c := range []byte(name) {
		if !stamp.IsDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return name != ""
}
