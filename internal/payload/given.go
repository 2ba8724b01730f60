package payload

// given is a value that is known only when an operation begins, see Env.Values.
type given struct{ name string }

func (g given) append(dst []byte, _ uint64) []byte { return dst }
func (g given) longest() int                       { return 0 }

// Fill is Append for a template with values: value returns each by its name, and line the line that was lent; nil
// where nothing is lent. missing is the first name for which value returned nil; "": there is none.
func (t *Template) Fill(dst []byte, seq uint64, value func(name string) []byte, line func(*Lease) uint64) (out []byte, missing string) {
	for _, p := range t.parts {
		from := len(dst)
		switch inner := plainPart(p).(type) {
		case given:
			v := value(inner.name)
			if v == nil && missing == "" {
				missing = inner.name
			}
			dst = encodeAs(p, append(dst, v...), from)
		case lentFeed:
			dst = p.append(dst, line(inner.lease))
		default:
			dst = p.append(dst, seq)
		}
	}
	return dst, missing
}

// encodeAs encodes what follows from in dst as the encoders of p do, the innermost first.
func encodeAs(p part, dst []byte, from int) []byte {
	if e, is := p.(encoded); is {
		return e.by.apply(encodeAs(e.part, dst, from), from)
	}
	return dst
}

// Names are the values that the template needs.
func (t *Template) Names() (names []string) {
	for _, p := range t.parts {
		if g, is := plainPart(p).(given); is {
			names = append(names, g.name)
		}
	}
	return names
}

// Files are the files that the template reads, as path and column; column 0 is the whole line.
func (t *Template) Files() (list []string, columns []int) {
	for _, f := range t.feeds() {
		list, columns = append(list, f.lines.name), append(columns, f.lines.field)
	}
	return list, columns
}
