package replay

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

// unsignedPayload replaces the hash of a body that is not signed.
const unsignedPayload = "UNSIGNED-PAYLOAD"

// payloadHash is the hash of a body for SignRequest.
func payloadHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// signer signs requests to S3 with AWS Signature Version 4, in the header
// Authorization and over the whole body (docs.aws.amazon.com, Amazon S3 API
// Reference, "Signature Calculations for the Authorization Header"). It is not safe for
// concurrent use.
type signer struct {
	Key    string // access key id
	Secret takt.Secret
	Region string

	day string // the day for which key is valid
	key []byte // derived from Secret, day and Region
}

// signedRequest is what is signed.
type signedRequest struct {
	Method, Host string
	URI          string      // path and query as sent
	Header       [][2]string // further fields to be signed, name and value
	PayloadHash  string      // hash of the body, or UnsignedPayload
	At           time.Time
}

// signature has the fields that the request needs besides Host and SignRequest.Header.
type signature struct {
	Authorization string // header Authorization
	Date          string // header X-Amz-Date
	PayloadHash   string // header X-Amz-Content-Sha256
}

// Sign computes the signature, in about 5 µs.
func (s *signer) Sign(r signedRequest) signature {
	out := signature{Date: r.At.UTC().Format("20060102T150405Z"), PayloadHash: r.PayloadHash}
	day := out.Date[:8]
	scope := day + "/" + s.Region + "/s3/aws4_request"
	names, canonical := r.canonical(out.Date)
	toSign := "AWS4-HMAC-SHA256\n" + out.Date + "\n" + scope + "\n" + payloadHash([]byte(canonical))
	signature := hex.EncodeToString(hmacOf(s.keyOf(day), toSign))
	out.Authorization = "AWS4-HMAC-SHA256 Credential=" + s.Key + "/" + scope + ",SignedHeaders=" + names + ",Signature=" + signature
	return out
}

// canonical returns the request in the form that both sides hash, and the names of its
// fields.
func (r *signedRequest) canonical(date string) (names, text string) {
	fields := [][2]string{{"host", r.Host}, {"x-amz-content-sha256", r.PayloadHash}, {"x-amz-date", date}}
	for _, h := range r.Header {
		fields = append(fields, [2]string{strings.ToLower(h[0]), strings.Join(strings.Fields(h[1]), " ")})
	}
	slices.SortFunc(fields, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	var list []string
	var lines strings.Builder
	for _, f := range fields {
		list = append(list, f[0])
		lines.WriteString(f[0] + ":" + f[1] + "\n")
	}
	names = strings.Join(list, ";")
	path, query, _ := strings.Cut(r.URI, "?")
	return names, strings.Join([]string{r.Method, escaped(path, true), canonicalQuery(query), lines.String(), names, r.PayloadHash}, "\n")
}

// keyOf derives the key of a day, once for all requests of the day.
func (s *signer) keyOf(day string) []byte {
	if s.day != day {
		k := hmacOf([]byte("AWS4"+string(s.Secret)), day)
		s.key, s.day = hmacOf(hmacOf(hmacOf(k, s.Region), "s3"), "aws4_request"), day
	}
	return s.key
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalQuery encodes names and values of the parameters again, and sorts by both.
func canonicalQuery(query string) string {
	if query == "" {
		return ""
	}
	var list [][2]string
	for p := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(strings.ReplaceAll(p, "+", "%20"), "=")
		list = append(list, [2]string{escaped(name, false), escaped(value, false)})
	}
	slices.SortFunc(list, func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	var b strings.Builder
	for i, p := range list {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p[0] + "=" + p[1])
	}
	return b.String()
}

const upperHex = "0123456789ABCDEF"

// escaped decodes s and percent-encodes all but letters, digits, - . _ ~ and, in a
// path, the slash.
func escaped(s string, path bool) string {
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, i = byte(v), i+2
			}
		}
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("-._~"), c) >= 0 || path && c == '/' {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}
