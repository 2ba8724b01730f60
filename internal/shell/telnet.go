package shell

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// The commands and options of telnet that matter here (RFC 854, 857, 858, 860, 1073).
const (
	telnetIAC  = 255
	telnetDONT = 254
	telnetDO   = 253
	telnetWONT = 252
	telnetWILL = 251
	telnetSB   = 250 // begins an option's data, which IAC SE ends
	telnetIP   = 244 // interrupt process: Ctrl-C of a client in line mode
	telnetBRK  = 243
	telnetSE   = 240

	optionEcho    = 1
	optionGoAhead = 3 // SUPPRESS-GO-AHEAD: with it a client sends every key at once
	optionWindow  = 31

	keyCtrlC = 3
)

// maxSub limits the data of an option; a window's size has 4 bytes.
const maxSub = 64

// telnet removes the commands of the telnet protocol from what a client sends. It offers
// nothing by itself: a client that is offered server echo stops its own editing, and rlwrap
// would give up. It refuses every request of a client, because a client may wait for an
// answer: telnet shows nothing after Ctrl-C until its timing mark is answered.
type telnet struct {
	in        *bufio.Reader
	answer    func([]byte) // sends to the client
	interrupt func()       // the client sent Ctrl-C
	window    func(width, height int)
	agreed    [256]bool // options that takt itself has proposed
	pressed   bool      // the previous byte was a carriage return
	begun     bool      // a byte was read
}

// errProtocol ends a session. A web page can have a browser connect here by HTTP, TLS or STUN, and
// chooses parts of what the browser sends, which later lines would be: commands.
var errProtocol = errors.New("this is another protocol than a session's")

// isProtocol reports whether the first byte of a session is that of STUN (0, 1) or of TLS (22).
func isProtocol(b byte) bool { return b <= 1 || b == 22 }

// propose asks the client to leave the editing to takt, or to edit itself again.
func (t *telnet) propose(editing bool) {
	verb, ask := byte(telnetWONT), byte(telnetDONT)
	if editing {
		verb, ask = telnetWILL, telnetDO
	}
	t.agreed[optionEcho], t.agreed[optionGoAhead], t.agreed[optionWindow] = true, true, true
	t.answer([]byte{telnetIAC, verb, optionEcho, telnetIAC, verb, optionGoAhead, telnetIAC, ask, optionWindow})
}

// next returns the next byte that a person typed. A line's end is \n, whether the client
// sent CR LF, CR NUL, CR or LF.
func (t *telnet) next() (byte, error) {
	for {
		b, err := t.in.ReadByte()
		if err == nil && !t.begun && isProtocol(b) {
			err = errProtocol
		}
		if err != nil {
			return 0, err
		}
		t.begun = true
		pressed := t.pressed
		t.pressed = b == '\r'
		switch {
		case b == telnetIAC:
			b, literal, err := t.command()
			if err != nil {
				return 0, err
			}
			if literal {
				return b, nil
			}
		case b == '\r':
			return '\n', nil
		case pressed && (b == '\n' || b == 0):
		default:
			return b, nil
		}
	}
}

// command reads what follows an IAC. literal: b is input; IAC IAC is the byte 255, and IAC
// IP and IAC BRK are Ctrl-C.
func (t *telnet) command() (b byte, literal bool, err error) {
	b, err = t.in.ReadByte()
	switch {
	case err != nil:
	case b == telnetIAC:
		return b, true, nil
	case b == telnetIP || b == telnetBRK:
		return keyCtrlC, true, nil
	case b == telnetSB:
		err = t.option()
	case b >= telnetWILL:
		var option byte
		if option, err = t.in.ReadByte(); err == nil {
			t.refuse(b, option)
		}
	}
	return 0, false, err
}

// refuse refuses a request. It answers neither what takt itself proposed nor a refusal:
// the answers would never end.
func (t *telnet) refuse(verb, option byte) {
	switch {
	case t.agreed[option]:
	case verb == telnetDO:
		t.answer([]byte{telnetIAC, telnetWONT, option})
	case verb == telnetWILL:
		t.answer([]byte{telnetIAC, telnetDONT, option})
	}
}

// option reads the data of an option. It uses the window's size and ignores all else.
func (t *telnet) option() error {
	var data []byte
	for {
		b, err := t.in.ReadByte()
		if err != nil {
			return err
		}
		if b == telnetIAC {
			if b, err = t.in.ReadByte(); err != nil {
				return err
			}
			if b == telnetSE {
				break
			}
		}
		if len(data) == maxSub {
			return errors.New("a telnet option is too long")
		}
		data = append(data, b)
	}
	if size, ok := bytes.CutPrefix(data, []byte{optionWindow}); ok && len(size) == 4 {
		t.window(int(binary.BigEndian.Uint16(size)), int(binary.BigEndian.Uint16(size[2:])))
	}
	return nil
}

// maxLine limits a line, in bytes.
const maxLine = 64 << 10

var errLongLine = errors.New("the line is longer than 64 KiB and was not read; use a definition, or a file of targets")

// line reads a line in plain mode. It discards a line longer than maxLine, and a last line
// without an end: the connection may have cut it.
func (t *telnet) line() (string, error) {
	var text []byte
	var fault error
	for {
		b, err := t.next()
		switch {
		case err != nil:
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return "", err
		case b == '\n':
			return string(text), fault
		case b == keyCtrlC:
			text, fault = nil, nil
			t.interrupt()
		case len(text) == maxLine:
			fault = errLongLine
		default:
			text = append(text, b)
		}
	}
}

// Read implements io.Reader for the editor, a key at a time. To the editor Ctrl-C would
// mean the end of the session; Read turns it into keys that empty the line.
func (t *telnet) Read(b []byte) (int, error) {
	if len(b) == 0 { // an escape sequence without an end has filled the editor's buffer
		return 0, io.ErrShortBuffer
	}
	key, err := t.next()
	switch {
	case err != nil:
		return 0, err
	case key == '\n':
		key = '\r' // Enter, to the editor
	case key == keyCtrlC:
		t.interrupt()
		const end, killLine = 5, 21
		return copy(b, []byte{end, killLine}), nil
	}
	b[0] = key
	return 1, nil
}
