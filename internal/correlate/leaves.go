package correlate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// leaf is a string or a number in JSON.
type leaf struct {
	path     []string // of keys and indexes
	key      string   // the last key of path; "": there is none
	value    string
	quoted   bool
	indexes  int // in path
	from, to int // bytes
}

// maxLeaves bounds the values that are read from one JSON text.
const maxLeaves = 100_000

// maxNested is how deep in objects and lists a value may be.
const maxNested = 100

// level is an object or a list around a leaf.
type level struct {
	object bool
	key    string // of the member that comes
	inKey  bool   // the next string is a key
	n      int    // of the element that comes
}

// leaves calls do for each string and number of a JSON text, in their order.
func leaves(body []byte, do func(leaf)) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var stack []level
	done := func() { // a value is over
		if len(stack) == 0 {
			return
		}
		top := &stack[len(stack)-1]
		top.n++
		top.inKey = top.object
	}
	for n := 0; n < maxLeaves; {
		t, err := d.Token()
		if err != nil {
			return
		}
		add := do
		if len(stack) > maxNested {
			add = func(leaf) {}
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				stack = append(stack, level{object: t == '{', inKey: t == '{'})
				continue
			}
			stack = stack[:len(stack)-1]
			done()
			continue
		case string:
			if len(stack) > 0 && stack[len(stack)-1].inKey {
				top := &stack[len(stack)-1]
				top.key, top.inKey = t, false
				continue
			}
			to := int(d.InputOffset())
			add(at(stack[:min(len(stack), maxNested)], leaf{value: t, quoted: true, from: quoteBefore(body, to), to: to}))
			n++
		case json.Number:
			to := int(d.InputOffset())
			add(at(stack[:min(len(stack), maxNested)], leaf{value: t.String(), from: to - len(t.String()), to: to}))
			n++
		}
		done()
	}
}

// at puts the place of a leaf into it.
func at(stack []level, l leaf) leaf {
	for _, one := range stack {
		if one.object {
			l.path, l.key = append(l.path, one.key), one.key
		} else {
			l.path, l.indexes = append(l.path, strconv.Itoa(one.n)), l.indexes+1
		}
	}
	return l
}

// quoteBefore is where the string begins that ends before to.
func quoteBefore(body []byte, to int) int {
	for i := to - 2; i >= 0; i-- {
		if body[i] != '"' {
			continue
		}
		escapes := 0
		for escapes < i && body[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return 0
}

// pathSigns mean something in a path of GJSON.
const pathSigns = `.*?|#@!{}[]()=<>%"\:`

// gjsonPath writes a path as json PATH has it.
func gjsonPath(path []string) string {
	var parts []string
	for _, p := range path {
		var b strings.Builder
		for _, c := range p {
			if strings.ContainsRune(pathSigns, c) {
				b.WriteByte('\\')
			}
			b.WriteRune(c)
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, ".")
}
