package apm

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// codeSize is the number of frames of an application. At 560 bytes each they are more than
// three times gzip's window of 32 KiB. So a long body compresses like traces of a real
// application: frames repeat, but not always within the window.
const codeSize = 200

// contextLines is the number of source lines before and after that of a frame, as the agents
// send them.
const contextLines = 5

// application is the code for stack traces: its frames as JSON.
type application struct{ frames [][]byte }

// newApplication makes an application. A browser's frames have columns and no source.
func newApplication(rnd *rand.Rand, browser bool) *application {
	a := &application{}
	for range codeSize {
		a.frames = append(a.frames, newFrame(rnd, browser))
	}
	return a
}

func newFrame(rnd *rand.Rand, browser bool) []byte {
	module, function := word(rnd), word(rnd)+title(word(rnd))
	if browser {
		return fmt.Appendf(nil, `{"abs_path":"https://shop.example.com/static/%s.bundle.min.js","filename":"static/%[1]s.bundle.min.js","function":"%s","lineno":1,"colno":%d,"library_frame":%t}`,
			module, function, 1+rnd.IntN(99_999), rnd.IntN(2) == 0)
	}
	file := fmt.Sprintf("%s/%s_%s.go", module, word(rnd), word(rnd))
	library := rnd.IntN(3) > 0
	root := "/srv/shop/"
	if library {
		root = "/root/go/pkg/mod/example.com/" + word(rnd) + "@v1." + fmt.Sprint(rnd.IntN(30)) + ".0/"
	}
	return fmt.Appendf(nil, `{"abs_path":"%s%s","filename":"%[2]s","module":"%s","function":"%s","lineno":%d,"library_frame":%t,"pre_context":%s,"context_line":"%s","post_context":%s}`,
		root, file, module, function, 1+rnd.IntN(900), library, lines(rnd), line(rnd), lines(rnd))
}

func lines(rnd *rand.Rand) string {
	var list []string
	for range contextLines {
		list = append(list, `"`+line(rnd)+`"`)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// line is a line of source.
func line(rnd *rand.Rand) string {
	indent := strings.Repeat(" ", 4*rnd.IntN(4))
	a, b, c := word(rnd), word(rnd), word(rnd)
	switch rnd.IntN(6) {
	case 0:
		return indent + "if err := " + a + "." + title(b) + "(ctx, " + c + "); err != nil {"
	case 1:
		return indent + "return nil, " + a + "." + title(b) + "(" + c + ")"
	case 2:
		return indent + a + title(b) + " := new" + title(c) + "(" + a + ")"
	case 3:
		return indent + "for _, " + a + " := range " + b + "." + title(c) + " {"
	case 4:
		return indent + "}"
	}
	return indent + a + "." + b + " = append(" + a + "." + b + ", " + c + ")"
}

// words are the parts of an application's names.
const words = "account address agent amount basket batch billing branch bucket buffer cache cart catalog channel checkout client " +
	"cluster command config connection context cookie coupon currency customer database delivery discount document driver " +
	"element endpoint event export factory field filter folder gateway group handler header history image import index " +
	"inventory invoice item journal ledger limit listing loader locale logger lookup market message method metric model " +
	"module notice number offer order origin packet page partner payment policy price process product profile promotion " +
	"query queue quota record refund region report request resource response result review role route sample schedule " +
	"schema search section sender server service session shard shipment signal source stock storage stream subject " +
	"supplier tariff tax template tenant ticket token topic tracker transfer update user value vendor version voucher warehouse"

func word(rnd *rand.Rand) string {
	at := rnd.IntN(len(words) - 12) // the longest word has 10 letters
	at += strings.IndexByte(words[at:], ' ') + 1
	w, _, _ := strings.Cut(words[at:], " ")
	return w
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
