package correlate

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// shortest is the least length of a value that looks random, in characters.
const shortest = 8

var (
	uuidText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	})
	hexText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{16,}|[0-9A-F]{16,})$`) })
	digits  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+$`) })
	word    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z]?[a-z]+([-_ ][A-Za-z]?[a-z]+)*$|^[A-Z]+([-_][A-Z]+)*$`)
	})
	// usual are texts with digits or capitals that people and programs write: versions, types, addresses, names of places.
	usual = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(v?\d+(\.\d+)+|[\w.+-]+@[\w.-]+\.\w+|(application|audio|font|image|message|multipart|text|video)/[\w.+-]+(;.*)?|https?://.*|(\w+\.)+(com|org|net|io|html?|php|js|css|json|xml|png|jpe?g|svg|pdf|example)|[a-z]+-?\d{1,4}|\+?[\d ()-]+)$`)
	})
)

// isID reports whether a value is a UUID or a long hexadecimal number.
func isID(v string) bool { return uuidText().MatchString(v) || isHex(v) }

// isHex reports whether a value is a long hexadecimal number, which one of decimal digits alone is not.
func isHex(v string) bool { return hexText().MatchString(v) && !digits().MatchString(v) }

// looksRandom reports whether no person types a value: it is long and mixes letters with digits, or small letters with
// capitals.
func looksRandom(v string) bool {
	if isID(v) {
		return true
	}
	if len(v) < shortest || word().MatchString(v) || usual().MatchString(v) || strings.ContainsAny(v, " \t\r\n{}<>()$") {
		return false
	}
	changes, last := 0, -1
	for _, c := range v {
		kind := 0
		switch {
		case unicode.IsDigit(c):
			kind = 1
		case unicode.IsUpper(c):
			kind = 2
		case !unicode.IsLetter(c):
			continue
		}
		if last >= 0 && kind != last {
			changes++
		}
		last = kind
	}
	return changes >= 3 || changes >= 2 && len(v) >= 12
}

// telling are the ends of names whose values belong to one user or one thing.
var telling = []string{"id", "ids", "guid", "key", "token", "csrf", "xsrf", "nonce", "code", "ref", "reference", "number", "no", "session", "ticket", "hash", "slug", "sku", "state", "verifier", "challenge", "cursor", "location", "authorization", "etag", "viewstate", "eventvalidation", "handle", "secret", "otp", "verification"}

// tells reports whether a name says that its value belongs to one user or one thing, such as orderId or csrf_token.
func tells(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	end := words[len(words)-1]
	for _, t := range telling {
		if end == t || strings.HasSuffix(end, "token") || strings.HasSuffix(end, "uuid") || strings.HasSuffix(end, "csrf") {
			return true
		}
	}
	return false
}

// wordsOf are the words of a name, in small letters: order and id of orderId, order_id, Order-ID.
func wordsOf(name string) (words []string) {
	var one strings.Builder
	flush := func() {
		if one.Len() > 0 {
			words = append(words, one.String())
			one.Reset()
		}
	}
	list := []rune(name)
	for i, c := range list {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c) || c > unicode.MaxASCII:
			flush()
			continue
		case unicode.IsUpper(c) && i > 0 && (unicode.IsLower(list[i-1]) || unicode.IsDigit(list[i-1]) || i+1 < len(list) && unicode.IsLower(list[i+1]) && unicode.IsUpper(list[i-1])):
			flush()
		}
		one.WriteRune(unicode.ToLower(c))
	}
	flush()
	return words
}

// secret reports whether a field of this name has what a person keeps to themselves.
func secret(name string) bool {
	for _, w := range wordsOf(name) {
		switch w {
		case "password", "passwd", "passwort", "pwd", "pass", "passphrase", "pin", "cvv", "cvc", "secret":
			return true
		}
	}
	return false
}
