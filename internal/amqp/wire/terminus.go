package wire

// Terminus is a source or target of a link, or the coordinator of transactions
// (part 3, section 3.5; part 4, section 4.5).
type Terminus struct {
	Coordinator  bool
	Address      string
	Durable      uint32
	Dynamic      bool // the broker makes the node, and answers with its address
	Expiry       string
	Distribution string // distribution mode of a source: copy or move
	Selector     string // selector of a source
	Capabilities []string
}

// Field appends the terminus as the next field. is says whether it is a source or target.
func (t *Terminus) Field(l *Compound, is uint64) {
	switch {
	case t == nil:
		l.Skip(1)
	case t.Coordinator:
		l.B = t.appendCoordinator(l.Next())
	default:
		l.B = t.append(l.Next(), is)
	}
}

func (t *Terminus) appendCoordinator(b []byte) []byte {
	l := OpenList(b, isCoordinator)
	l.SymbolsSet(t.Capabilities)
	return l.Close()
}

func (t *Terminus) append(b []byte, is uint64) []byte {
	l := OpenList(b, is)
	l.StringSet(t.Address)
	l.UintSet(t.Durable)
	l.SymbolSet(t.Expiry)
	l.Skip(1) // timeout
	l.Bool(t.Dynamic)
	l.Skip(1) // properties of a dynamic node
	if is == isSource {
		l.SymbolSet(t.Distribution)
		t.filter(&l)
		l.Skip(1)
		// Without these outcomes Artemis detaches the link when it refuses a message.
		l.SymbolsSet([]string{"amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"})
	}
	l.SymbolsSet(t.Capabilities)
	return l.Close()
}

func (t *Terminus) filter(l *Compound) {
	if t.Selector == "" {
		l.Skip(1)
		return
	}
	m := OpenCompound(l.Next(), CodeMap32)
	m.Symbol("jms-selector")
	m.B = AppendString(AppendDescriptor(m.Next(), isSelector), t.Selector)
	l.B = m.Close()
}

// readTerminus reads the next field; nil if it is null.
func readTerminus(f *Fields) *Terminus {
	v := f.Next()
	if f.Bad || v.Null() {
		return nil
	}
	is, l := v.Composite()
	if is == 0 {
		f.fail()
		return nil
	}
	t := &Terminus{Coordinator: is == isCoordinator}
	if t.Coordinator {
		t.Capabilities = l.Next().Symbols()
	} else {
		t.Read(&l, is)
	}
	f.Bad = f.Bad || l.Bad
	return t
}

func (t *Terminus) Read(l *Fields, is uint64) {
	t.Address, t.Durable, t.Expiry = l.Text(), l.Uint(0), l.Text()
	l.Skip(1)
	t.Dynamic = l.Bool()
	l.Skip(1)
	if is == isSource {
		t.Distribution = l.Text()
		t.Selector = readSelector(l.Next())
		l.Skip(2)
	}
	t.Capabilities = l.Next().Symbols()
}

func readSelector(v Value) string {
	for m := v.List(); m.left > 1; {
		m.Next()
		filter := m.Next()
		if filter.code != codeDescribed || m.Bad {
			continue
		}
		if is, text := filter.described(); is == isSelector {
			b, _ := text.Bytes()
			return toUTF8(b)
		}
	}
	return ""
}
