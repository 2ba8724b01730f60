package formats

import (
	"strings"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// The headers of an archive that are not sent again.
const (
	// ownHeaders belong to one connection (RFC 9110, 7.6.1), or takt sets them itself.
	ownHeaders = " connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings expect host content-length accept-encoding "
	// privateHeaders belong to the user of the browser.
	privateHeaders = " authorization cookie proxy-authorization referer user-agent "
)

// unfitHeader is the name that counts the headers which a request cannot contain.
const unfitHeader = "not fit for a request"

// LeftHeader begins the reason for which a request lacks a line of its header.
const LeftHeader = "header "

func leaveOut(f *parse.Line, name string) { f.Left.Note(LeftHeader + name) }

// header stores the lines of a header that are sent again. It counts the private and unfit
// lines that it leaves out, and not ownHeaders.
func header(f *parse.Line, list []harHeader, bodyType string) {
	r := f.Rec
	at := len(r.Memory)
	for _, h := range list {
		name := " " + strings.ToLower(h.Name) + " "
		switch {
		case strings.HasPrefix(h.Name, ":") || strings.Contains(ownHeaders, name):
		case name == " referer ":
			r.Referer = []byte(h.Value)
			leaveOut(f, "referer")
		case name == " user-agent ":
			r.Agent = []byte(h.Value)
			leaveOut(f, "user-agent")
		case strings.Contains(privateHeaders, name):
			if name == " cookie " {
				r.Cookie = []byte(h.Value)
			}
			leaveOut(f, strings.TrimSpace(name))
		case !isField(h.Name, h.Value):
			leaveOut(f, unfitHeader)
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
		if !parse.IsDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(signs, c) < 0 {
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
