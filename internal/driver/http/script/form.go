package script

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/payload"
)

// formField is one @form or @file line of a step.
type formField struct {
	name, value string
	file        string // name of the file whose content value is; "": it is text
	line        int
}

// readField reads NAME VALUE of @form, or NAME FILE of @file.
func readField(word, rest, scenario string, line int) (f formField, err error) {
	f = formField{line: line}
	f.name, f.value, _ = strings.Cut(rest, " ")
	f.value = strings.TrimSpace(f.value)
	if f.name == "" || word == "@file" && f.value == "" {
		return f, fmt.Errorf("%s without a name and a value; write @form NAME VALUE, or @file NAME FILE for a file that is uploaded", word)
	}
	if name, v, is := strings.Cut(f.name, "="); word == "@form" && is && f.value == "" {
		return f, fmt.Errorf("%.40q is a name without a value; write @form %.40s %.40s", rest, name, v)
	}
	if word == "@form" {
		return f, nil
	}
	b, err := httpreq.ReadOpened(near(scenario, f.value), httpreq.MaxBody, files.OpenRegular)
	if err != nil {
		return f, fmt.Errorf("cannot read the file: %w", err)
	}
	f.file, f.value = filepath.Base(f.value), string(b)
	return f, nil
}

// form are the fields of a step's body, in their order.
type form []formField

// uploads reports whether a field is a file, so that the body is multipart/form-data (RFC 7578).
func (f form) uploads() bool {
	for _, one := range f {
		if one.file != "" {
			return true
		}
	}
	return false
}

// boundary is a line that no file has: it depends on all of them.
func (f form) boundary() string {
	sum := sha256.New()
	for _, one := range f {
		fmt.Fprintf(sum, "%q %q\n", one.name, one.value)
	}
	return "takt-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// contentType is that of the body.
func (f form) contentType() string {
	if f.uploads() {
		return "multipart/form-data; boundary=" + f.boundary()
	}
	return "application/x-www-form-urlencoded"
}

// quoted is a name as RFC 7578 and browsers write it between quotes.
var quoted = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

// body is the template of the body. parse reads the placeholders of a field.
func (f form) body(parse func(line int, name, text string) *payload.Template) *payload.Template {
	var parts []*payload.Template
	text := func(format string, args ...any) { parts = append(parts, payload.Literal(fmt.Sprintf(format, args...))) }
	if !f.uploads() {
		for i, one := range f {
			if i > 0 {
				text("&")
			}
			parts = append(parts, payload.Literal(one.name).EncodeURL(), payload.Literal("="), parse(one.line, "form "+one.name, one.value).EncodeURL())
		}
		return payload.Join(parts...)
	}
	for _, one := range f {
		text("--%s\r\nContent-Disposition: form-data; name=\"%s\"", f.boundary(), quoted.Replace(one.name))
		if one.file == "" {
			text("\r\n\r\n")
			parts = append(parts, parse(one.line, "form "+one.name, one.value))
		} else {
			text("; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n%s", quoted.Replace(one.file), cmp.Or(mime.TypeByExtension(filepath.Ext(one.file)), "application/octet-stream"), one.value)
		}
		text("\r\n")
	}
	text("--%s--\r\n", f.boundary())
	return payload.Join(parts...)
}

var errFormAndBody = errors.New("the step has a form and another body; keep one")
