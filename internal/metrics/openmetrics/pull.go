package openmetrics

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/taktload/takt/internal/door"
	"github.com/taktload/takt/internal/metrics"
)

const (
	maxConns   = 16
	maxHeader  = 16 << 10
	clientTime = 5 * time.Second // for a scraper to send its request, and to read the answer
	idleTime   = 2 * time.Minute // between two requests
)

// Path is where the figures are.
const Path = "/metrics"

// Endpoint says where scrapers may ask, and who may.
type Endpoint struct {
	Address   string // HOST:PORT
	TokenFile string // as for takt server; "": everybody who can connect may ask
	Cert, Key string // PEM files; "": no TLS
}

// pull answers scrapers with the newest batch.
type pull struct {
	listener net.Listener
	stop     context.CancelFunc
	ended    chan struct{}
	tokens   door.Tokens // nil: no token is needed
	tries    door.Tries

	mu    sync.Mutex
	batch *metrics.Batch     // newest; nil: no second is over
	texts map[dialect][]byte // of batch
}

func openPull(e Endpoint) (metrics.Exporter, error) {
	p := &pull{ended: make(chan struct{})}
	if e.TokenFile != "" {
		var err error
		if p.tokens, err = door.ReadTokens(e.TokenFile); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", e.Address)
	if err != nil {
		return nil, fmt.Errorf("%w; give another port", err)
	}
	p.listener = door.Limited(l, maxConns)
	if e.Cert != "" {
		pair, err := door.Certificate(e.Cert, e.Key)
		if err != nil {
			_ = l.Close() // an error loses nothing
			return nil, fmt.Errorf("the certificate cannot be read: %w", err)
		}
		p.listener = tls.NewListener(p.listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	p.serve()
	return p, nil
}

func (p *pull) serve() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	h := &http.Server{
		Handler: p, ReadHeaderTimeout: clientTime, ReadTimeout: clientTime, WriteTimeout: clientTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
	go func() {
		defer close(p.ended)
		_ = door.ServeHTTP(ctx, h, p.listener, time.Second/2) // it ends with the run
	}()
}

// Export implements metrics.Exporter.
func (p *pull) Export(_ context.Context, b *metrics.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batch, p.texts = b, map[dialect][]byte{}
	return nil
}

// Close implements metrics.Exporter.
func (p *pull) Close(ctx context.Context) error {
	p.stop()
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
	return nil
}

// text is the newest batch. It is written once for all scrapers.
func (p *pull) text(d dialect) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.batch == nil {
		return text(nil, d)
	}
	if p.texts[d] == nil {
		p.texts[d] = text(p.batch, d)
	}
	return p.texts[d]
}

// ServeHTTP implements http.Handler.
func (p *pull) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status, why := p.refusal(r); status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="takt"`)
		}
		http.Error(w, why, status)
		return
	}
	d := prometheus
	if strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text") {
		d = openMetrics
	}
	w.Header().Set("Content-Type", d.contentType())
	_, _ = w.Write(p.text(d)) // the scraper is gone
}

// refusal is the status of a request that gets no figures, and the reason; 0: it gets them.
func (p *pull) refusal(r *http.Request) (status int, why string) {
	if status, err := door.FromPage(r, p.tokens != nil); err != nil {
		return status, err.Error()
	}
	if p.tokens != nil && !p.known(r) {
		return http.StatusUnauthorized, "send a token of the token file: Authorization: Bearer TOKEN"
	}
	if p.tokens != nil { // else nobody has shown who they are
		door.VisitorOf(r).Welcome()
	}
	switch {
	case r.URL.Path != Path:
		return http.StatusNotFound, "the figures are at " + Path
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "use GET"
	}
	return 0, ""
}

// known reports whether a request has a token.
func (p *pull) known(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, basic := r.BasicAuth(); basic {
		token, ok = password, true
	}
	if !ok {
		return false
	}
	found, _ := p.tries.Check(door.AddressOf(door.VisitorOf(r).RemoteAddr()), func() *door.Token { return p.tokens.Find(token) })
	return found != nil
}
