package answers

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"net/textproto"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Kind is how two answers differ at a place.
type Kind string

// The kinds. Order: the lists have the same elements. Number: the same number, written in another way.
const (
	Value   Kind = "value"
	Type    Kind = "type"
	Number  Kind = "number format"
	Missing Kind = "missing"
	Extra   Kind = "added"
	Length  Kind = "length"
	Order   Kind = "order"
	Cut     Kind = "cut short"
)

// found is a place where two answers differ.
type found struct {
	at         *place
	kind       Kind
	base, head any // absent{} of Missing and Extra
}

// The bounds of one comparison.
const (
	mostFound = 200       // places of one pair of answers
	mostDepth = 64        // levels of JSON; what is deeper is one value
	mostMatch = 1_000_000 // steps to find which elements of two lists belong together
)

// differ compares two answers.
type differ struct {
	seed maphash.Seed
	list []found
	more bool // there are more than mostFound
}

func (d *differ) add(at *place, kind Kind, base, head any) {
	if len(d.list) == mostFound {
		d.more = true
		return
	}
	d.list = append(d.list, found{at, kind, base, head})
}

// answers compares two answers to one request.
func (d *differ) answers(a, b *view) {
	if a.Failed != "" || b.Failed != "" {
		if a.Failed != b.Failed {
			d.add(root(rootStatus), Value, statusOf(a), statusOf(b))
		}
		return
	}
	if a.Status != b.Status {
		d.add(root(rootStatus), Value, statusOf(a), statusOf(b))
	}
	d.headers(a, b)
	d.bodies(a, b)
}

func statusOf(v *view) any {
	if v.Failed != "" {
		return "no answer (" + v.Failed + ")"
	}
	return json.Number(strconv.Itoa(v.Status))
}

// framing are the headers that say how, when and on which connection a body came. The body itself is compared.
var framing = []string{"Age", "Connection", "Content-Encoding", "Content-Length", "Date", "Keep-Alive", "Trailer", "Transfer-Encoding"}

const setCookie = "Set-Cookie"

func headerName(name string) string {
	name, cookie, _ := strings.Cut(name, " ")
	return strings.TrimSpace(textproto.CanonicalMIMEHeaderKey(name) + " " + cookie)
}

func (d *differ) headers(a, b *view) {
	at, one, other := root(rootHeader), fields(a), fields(b)
	for _, name := range slices.Sorted(maps.Keys(one)) {
		if v, ok := other[name]; !ok {
			d.add(at.member(name), Missing, one[name], absent{})
		} else if v != one[name] {
			d.add(at.member(name), Value, one[name], v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, ok := one[name]; !ok {
			d.add(at.member(name), Extra, absent{}, other[name])
		}
	}
}

// fields are the headers to compare, and each cookie by itself.
func fields(v *view) map[string]string {
	all := make(map[string]string, len(v.Header))
	for name, values := range v.Header {
		name = headerName(name)
		switch {
		case slices.Contains(framing, name):
		case name == setCookie:
			for _, one := range values {
				cookie, _, _ := strings.Cut(one, "=")
				key := setCookie + " " + strings.TrimSpace(cookie)
				all[key] = strings.TrimPrefix(all[key]+", "+one, ", ")
			}
		default:
			all[name] = strings.Join(values, ", ")
		}
	}
	return all
}

func (d *differ) bodies(a, b *view) {
	at := root(rootBody)
	if a.Broken != b.Broken {
		d.add(at, Cut, ending(a), ending(b))
		return
	}
	if string(a.Body) == string(b.Body) {
		if sameCoding := slices.Equal(a.Header["Content-Encoding"], b.Header["Content-Encoding"]); a.Whole != b.Whole || !a.Whole && sameCoding && (a.Rest != b.Rest || a.Size != b.Size) {
			d.add(at, Value, tail(a), tail(b))
		}
		return
	}
	one, isOne := a.document()
	other, isOther := b.document()
	switch {
	case isOne && isOther:
		d.values(root(rootJSON), one, other)
	case len(a.Body) == 0:
		d.add(at, Extra, absent{}, excerpt(b, 0))
	case len(b.Body) == 0:
		d.add(at, Missing, excerpt(a, 0), absent{})
	case isOne != isOther:
		d.add(at, Type, excerpt(a, 0), excerpt(b, 0))
	default:
		i := 0
		for i < min(len(a.Body), len(b.Body)) && a.Body[i] == b.Body[i] {
			i++
		}
		d.add(at, Value, excerpt(a, i), excerpt(b, i))
	}
}

// ending says how a body ended.
func ending(v *view) any {
	if v.Broken == "" {
		return words(strconv.FormatInt(v.Size, 10) + " bytes, complete")
	}
	return words(strconv.FormatInt(v.Size, 10) + " bytes, then " + v.Broken)
}

// tail tells of a long body, whose beginning is the same.
func tail(v *view) any {
	size := strconv.FormatInt(v.Size, 10)
	if v.Size >= MostRead {
		size += " or more"
	}
	return words(size + " bytes, different after the first " + strconv.Itoa(len(v.Body)))
}

// excerpt is what a body has from byte i.
func excerpt(v *view, i int) any {
	const before, after = 16, 200
	return words("byte " + strconv.Itoa(i) + " of " + strconv.Itoa(len(v.Body)) + ": " + string(v.Body[max(0, i-before):min(len(v.Body), i+after)]))
}

// words are shown as they are, without quotes.
type words string

// values compares two values of JSON.
func (d *differ) values(at *place, a, b any) {
	if d.more {
		return
	}
	if at.depth >= mostDepth {
		if !reflect.DeepEqual(a, b) {
			d.add(at, Value, a, b)
		}
		return
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.objects(at, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.lists(at, x, y)
			return
		}
	case json.Number:
		if y, ok := b.(json.Number); ok {
			if x != y {
				d.add(at, numberKind(x, y), a, b)
			}
			return
		}
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		d.add(at, Type, a, b)
	} else if a != b { // strings and truth values
		d.add(at, Value, a, b)
	}
}

// numberKind is Number if both texts are one number. Long digits are not: a float64 would not tell them apart.
func numberKind(x, y json.Number) Kind {
	const exact = 15 // digits of a float64
	v, bad := x.Float64()
	w, bad2 := y.Float64()
	if len(x) <= exact && len(y) <= exact && bad == nil && bad2 == nil && v == w {
		return Number
	}
	return Value
}

func (d *differ) objects(at *place, a, b map[string]any) {
	var names []string // that differ, sorted: most pairs of objects have none
	for name, v := range a {
		if w, ok := b[name]; !ok || !sameScalar(v, w) {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		v, isOne := a[name]
		w, isOther := b[name]
		switch child := at.member(name); {
		case !isOther:
			d.add(child, Missing, v, absent{})
		case !isOne:
			d.add(child, Extra, absent{}, w)
		default:
			d.values(child, v, w)
		}
		if d.more {
			return
		}
	}
}

// absent stands for a member that is not there, which null is not.
type absent struct{}

// sameScalar reports whether two values are equal and have no members and elements.
func sameScalar(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
