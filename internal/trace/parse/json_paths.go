package parse

// JSONPaths lists the paths of the values in an object, as a field map writes them.
func JSONPaths(line []byte) ([]string, error) {
	p := &pathWalk{walk: walk{in: line}}
	p.blanks()
	if p.peek() != '{' {
		return nil, ErrNotJSON
	}
	err := p.value("", 0)
	return p.found, err
}

// pathWalk is a walk that collects names.
type pathWalk struct {
	walk
	found []string
}

// maxPaths limits the names that paths collects.
const maxPaths = 256

func (p *pathWalk) value(path string, depth int) error {
	if p.peek() != '{' {
		if path != "" && len(p.found) < maxPaths {
			p.found = append(p.found, path)
		}
		return p.walk.value(nil, depth)
	}
	if depth > maxNesting {
		return errNested
	}
	p.pos++
	if p.blanks(); p.peek() == '}' {
		p.pos++
		return nil
	}
	for {
		p.blanks()
		key, err := p.key()
		if err != nil {
			return err
		}
		name := string(Unescape(nil, key))
		if path != "" {
			name = path + "." + name
		}
		if err := p.value(name, depth+1); err != nil {
			return err
		}
		p.blanks()
		c := p.peek()
		p.pos++
		switch c {
		case ',':
		case '}':
			return nil
		default:
			return ErrNotJSON
		}
	}
}
