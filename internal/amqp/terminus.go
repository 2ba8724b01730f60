package amqp

// terminus is a source or target of a link, or the coordinator of transactions
// (part 3, section 3.5; part 4, section 4.5).
type terminus struct {
	coordinator  bool
	address      string
	durable      uint32
	expiry       string
	distribution string // distribution mode of a source: copy or move
	selector     string // selector of a source
	capabilities []string
}

// field appends the terminus as the next field. is says whether it is a source or target.
func (t *terminus) field(l *compound, is uint64) {
	switch {
	case t == nil:
		l.skip(1)
	case t.coordinator:
		l.b = t.appendCoordinator(l.next())
	default:
		l.b = t.append(l.next(), is)
	}
}

func (t *terminus) appendCoordinator(b []byte) []byte {
	l := openList(b, isCoordinator)
	l.symbolsSet(t.capabilities)
	return l.close()
}

func (t *terminus) append(b []byte, is uint64) []byte {
	l := openList(b, is)
	l.stringSet(t.address)
	l.uintSet(t.durable)
	l.symbolSet(t.expiry)
	l.skip(3) // timeout, dynamic and its properties
	if is == isSource {
		l.symbolSet(t.distribution)
		t.filter(&l)
		l.skip(1)
		// Without these outcomes Artemis detaches the link when it refuses a message.
		l.symbolsSet([]string{"amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"})
	}
	l.symbolsSet(t.capabilities)
	return l.close()
}

func (t *terminus) filter(l *compound) {
	if t.selector == "" {
		l.skip(1)
		return
	}
	m := openCompound(l.next(), codeMap32)
	m.symbol("jms-selector")
	m.b = appendString(appendDescriptor(m.next(), isSelector), t.selector)
	l.b = m.close()
}

// readTerminus reads the next field; nil if it is null.
func readTerminus(f *fields) *terminus {
	v := f.next()
	if f.bad || v.Null() {
		return nil
	}
	is, l := v.composite()
	if is == 0 {
		f.fail()
		return nil
	}
	t := &terminus{coordinator: is == isCoordinator}
	if t.coordinator {
		t.capabilities = l.next().symbols()
	} else {
		t.read(&l, is)
	}
	f.bad = f.bad || l.bad
	return t
}

func (t *terminus) read(l *fields, is uint64) {
	t.address, t.durable, t.expiry = l.text(), l.uint(0), l.text()
	l.skip(3)
	if is == isSource {
		t.distribution = l.text()
		t.selector = readSelector(l.next())
		l.skip(2)
	}
	t.capabilities = l.next().symbols()
}

func readSelector(v Value) string {
	for m := v.list(); m.left > 1; {
		m.next()
		filter := m.next()
		if filter.code != codeDescribed || m.bad {
			continue
		}
		if is, text := filter.described(); is == isSelector {
			b, _ := text.Bytes()
			return toUTF8(b)
		}
	}
	return ""
}
