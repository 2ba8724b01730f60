package formats

import (
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
)

// harBody is the body of a request. Browsers write Text; other programs may write only the fields of a form.
type harBody struct {
	MimeType string     `json:"mimeType"`
	Text     string     `json:"text"`
	Params   []harField `json:"params"`
}

// harField is a field of a form. A file has a FileName, and perhaps its content as Value.
type harField struct {
	Name        string  `json:"name"`
	Value       *string `json:"value"`
	FileName    string  `json:"fileName"`
	ContentType string  `json:"contentType"`
}

func (p *harField) value() string {
	if p.Value == nil {
		return ""
	}
	return *p.Value
}

// builtBody is a body as it is sent.
type builtBody struct {
	text  []byte
	kind  string // the Content-Type, if the header has none
	typed bool   // kind replaces that of the header
	lacks string // what the body lacks; "": nothing
}

// LeftBody is why a request lacks its body.
const LeftBody = "the body: a form whose archive does not have the content of its files"

// built is the body that was sent. Without a text it is built from the fields of the form.
func (b *harBody) built(headers []harHeader) builtBody {
	if b.Text != "" || len(b.Params) == 0 {
		return builtBody{text: []byte(b.Text), kind: b.MimeType}
	}
	kind := b.MimeType
	for _, h := range headers {
		if h.isType() {
			kind = h.Value
		}
	}
	if strings.HasPrefix(kind, "multipart/form-data") {
		return b.multipart(kind)
	}
	var pairs []string
	if strings.HasPrefix(b.MimeType, "application/x-www-form-urlencoded") {
		for _, p := range b.Params {
			pairs = append(pairs, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.value()))
		}
	}
	return builtBody{text: []byte(strings.Join(pairs, "&")), kind: b.MimeType}
}

// UsualBoundary is the boundary of an archive that does not name one.
const UsualBoundary = "takt-7d1c9b30e4a86f52"

// multipart is a form of parts (RFC 7578).
func (b *harBody) multipart(kind string) builtBody {
	var out strings.Builder
	to := multipart.NewWriter(&out)
	typed := false
	_, parameters, err := mime.ParseMediaType(kind)
	if err != nil || to.SetBoundary(parameters["boundary"]) != nil {
		_ = to.SetBoundary(UsualBoundary) // which is valid
		kind, typed = to.FormDataContentType(), true
	}
	quote := strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")
	for _, p := range b.Params {
		head := textproto.MIMEHeader{}
		disposition := `form-data; name="` + quote.Replace(p.Name) + `"`
		if p.FileName != "" {
			if p.Value == nil {
				return builtBody{kind: kind, lacks: LeftBody}
			}
			disposition += `; filename="` + quote.Replace(p.FileName) + `"`
		}
		head.Set("Content-Disposition", disposition)
		if p.ContentType != "" && isField("Content-Type", p.ContentType) {
			head.Set("Content-Type", p.ContentType)
		}
		part, err := to.CreatePart(head)
		if err == nil {
			_, err = part.Write([]byte(p.value()))
		}
		if err != nil {
			return builtBody{kind: kind, lacks: LeftBody} // cannot happen: a Builder does not fail
		}
	}
	_ = to.Close() // a Builder does not fail
	return builtBody{text: []byte(out.String()), kind: kind, typed: typed}
}
