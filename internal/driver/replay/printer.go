package replay

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/taktload/takt/internal/driver/http"
	"github.com/taktload/takt/internal/driver/http/httpreq"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/trace"
)

// printer shows exchanges in its own goroutine, so that a blocked terminal does not delay
// operations.
type printer struct {
	count atomic.Int64 // texts so far, shown or not
	lost  atomic.Int64 // texts that were dropped because the queue was full
	queue chan string
	done  chan struct{}
	stop  func()
}

// printerRoom is how many texts may wait in the queue.
const printerRoom = 256

func newPrinter(show func(string)) *printer {
	p := &printer{queue: make(chan string, printerRoom), done: make(chan struct{})}
	quit := make(chan struct{})
	p.stop = sync.OnceFunc(func() {
		close(quit)
		<-p.done
	})
	go func() {
		defer close(p.done)
		for {
			select {
			case text := <-p.queue:
				show(text)
				continue
			case <-quit:
			}
			for len(p.queue) > 0 {
				show(<-p.queue)
			}
			return
		}
	}()
	return p
}

// exchange shows a request and its answer. Without all, only the first few texts are shown.
func (p *printer) exchange(rec *trace.Record, e *http.Exchange, all bool) {
	head := fmt.Sprintf("%s %s (%s:%d): status %d", rec.Method, rec.URI, rec.File, rec.Line, e.Result.Status)
	if rec.Expected > 0 {
		head += fmt.Sprintf(", recorded %d", rec.Expected)
	}
	answer, body, _ := bytes.Cut(e.Answer, []byte("\r\n\r\n"))
	text := head + "\nRequest:\n" + strings.TrimRight(httpreq.HideHead(e.Request), "\n") + "\n\nResponse contents:\n" + httpreq.HideHead(answer) + "\n"
	if len(body) > 0 {
		text += "\nBody, of " + fmt.Sprint(e.BodyBytes) + " bytes:\n" + foreign.Lines(string(body[:min(len(body), bodyShown)])) + "\n"
	}
	p.say(text+"\n", all)
}

// bodyShown is how many bytes of a body are shown.
const bodyShown = 1 << 10

// line shows one line about a failure.
func (p *printer) line(text string) { p.say(text, false) }

func (p *printer) say(text string, all bool) {
	if p.count.Add(1) > shown && !all {
		return
	}
	select {
	case p.queue <- text:
	default:
		p.lost.Add(1)
	}
}
