// Package chromium drives a headless Chromium over pipes, for tests of pages and for the pictures of
// the documents. It is not part of takt.
package chromium

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// patience is how long an answer of the browser may take.
const patience = 60 * time.Second

// Browser is a running Chromium.
type Browser struct {
	cmd     *exec.Cmd
	profile string
	to      io.WriteCloser
	from    *os.File

	mutex   sync.Mutex
	last    int
	waiting map[int]chan answer
	pages   map[string]*Page // by session
	ended   error
}

// message is one of the DevTools protocol, in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	answer
}

type answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts the program, without a network: every name and address but files is refused, unless flags name another
// proxy.
func Start(program string, flags ...string) (*Browser, error) {
	profile, err := os.MkdirTemp("", "takt-chromium-")
	if err != nil {
		return nil, err
	}
	b := &Browser{profile: profile, waiting: map[int]chan answer{}, pages: map[string]*Page{}}
	if err := b.start(program, flags); err != nil {
		_ = os.RemoveAll(profile) // the error of the start says more
		return nil, err
	}
	go b.read()
	return b, nil
}

func (b *Browser) start(program string, flags []string) error {
	b.cmd = exec.Command(program, append([]string{"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + b.profile,
		"--no-first-run", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--disable-dev-shm-usage",
		"--proxy-server=127.0.0.1:9", "--disable-background-networking", "--disable-component-update", "--no-sandbox"}, flags...)...) // root has no sandbox
	commandIn, to, err := os.Pipe()
	if err != nil {
		return err
	}
	from, answersOut, err := os.Pipe()
	if err != nil {
		return err
	}
	b.to, b.from = to, from
	b.cmd.ExtraFiles = []*os.File{commandIn, answersOut} // descriptors 3 and 4
	err = b.cmd.Start()
	return errors.Join(err, commandIn.Close(), answersOut.Close())
}

// Close ends the browser.
func (b *Browser) Close() error {
	_, _ = b.call("", "Browser.close", nil) // Kill ends a browser that does not answer
	over := make(chan error, 1)
	go func() { over <- b.cmd.Wait() }()
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		_ = b.cmd.Process.Kill()
		<-over
	}
	return errors.Join(b.to.Close(), os.RemoveAll(b.profile))
}

// read distributes what the browser sends, until it ends.
func (b *Browser) read() {
	in := bufio.NewReader(b.from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			b.end(fmt.Errorf("the browser ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.end(err)
			return
		}
		b.receive(m)
	}
}

func (b *Browser) receive(m message) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if m.ID == 0 {
		if p := b.pages[m.Session]; p != nil {
			p.note(m.Method, m.Params)
		}
		return
	}
	if c := b.waiting[m.ID]; c != nil {
		c <- m.answer // has room for one
		delete(b.waiting, m.ID)
	}
}

func (b *Browser) end(err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.ended = err
	for _, c := range b.waiting {
		close(c)
	}
	b.waiting = map[int]chan answer{}
}

// call calls a method and waits for its result.
func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c, err := b.send(message{Session: session, Method: method, Params: text})
	if err != nil {
		return nil, err
	}
	select {
	case a, ok := <-c:
		switch {
		case !ok:
			return nil, b.ended
		case a.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a.Result, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: no answer for %v", method, patience)
	}
}

func (b *Browser) send(m message) (chan answer, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.ended != nil {
		return nil, b.ended
	}
	b.last++
	m.ID = b.last
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	c := make(chan answer, 1)
	b.waiting[m.ID] = c
	_, err = b.to.Write(append(text, 0))
	return c, err
}
