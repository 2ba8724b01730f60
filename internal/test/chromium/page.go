package chromium

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Page is a tab.
type Page struct {
	browser *Browser
	session string

	loaded bool     // under the browser's mutex
	faults []string // console errors, exceptions and failed requests; under the browser's mutex
}

// View is how a page is seen.
type View struct {
	Width, Height int
	Dark          bool
	NoScript      bool
}

// Open opens a URL and waits until it is loaded.
func (b *Browser) Open(url string, v View) (*Page, error) {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.get("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := b.get("", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &Page{browser: b, session: attached.Session}
	b.mutex.Lock()
	b.pages[p.session] = p
	b.mutex.Unlock()
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	for _, step := range []struct {
		method string
		params map[string]any
	}{
		{"Page.enable", nil}, {"Runtime.enable", nil}, {"Network.enable", nil}, {"Log.enable", nil},
		{"Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 1, "mobile": v.Width < 600}},
		{"Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}},
		{"Emulation.setScriptExecutionDisabled", map[string]any{"value": v.NoScript}},
	} {
		if _, err := p.Call(step.method, step.params); err != nil {
			return nil, err
		}
	}
	b.mutex.Lock()
	p.loaded, p.faults = false, nil // about:blank loaded, too
	b.mutex.Unlock()
	if _, err := p.Call("Page.navigate", map[string]any{"url": url}); err != nil {
		return nil, err
	}
	return p, p.wait()
}

// wait waits until the page is loaded.
func (p *Page) wait() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.browser.mutex.Lock()
		loaded := p.loaded
		p.browser.mutex.Unlock()
		if loaded {
			return nil
		}
	}
	return fmt.Errorf("the page did not load for %v", patience)
}

// note records an event of the page.
func (p *Page) note(method string, params json.RawMessage) {
	switch method {
	case "Page.loadEventFired":
		p.loaded = true
	case "Runtime.exceptionThrown", "Network.loadingFailed":
		p.faults = append(p.faults, method+": "+string(params))
	case "Runtime.consoleAPICalled", "Log.entryAdded":
		p.faults = append(p.faults, method+": "+string(params))
	}
}

// Faults are the console messages, exceptions and failed requests since the page was opened.
func (p *Page) Faults() []string {
	p.browser.mutex.Lock()
	defer p.browser.mutex.Unlock()
	return slices.Clone(p.faults)
}

// Call calls a method of the DevTools protocol for the page.
func (p *Page) Call(method string, params any) (json.RawMessage, error) {
	if params == nil {
		params = map[string]any{}
	}
	return p.browser.call(p.session, method, params)
}

// Eval evaluates an expression of JavaScript, waits for it, and decodes its value into v.
func (p *Page) Eval(expression string, v any) error {
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	text, err := p.Call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true})
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return err
	case r.Exception != nil:
		return fmt.Errorf("%s: %s", expression, r.Exception.Exception.Description)
	case v == nil:
		return nil
	}
	return json.Unmarshal(r.Result.Value, v)
}

// Picture is the whole page as PNG, or its uppermost pixels if height is above 0.
func (p *Page) Picture(height int) ([]byte, error) {
	var size struct{ W, H float64 }
	if err := p.Eval("({W: document.documentElement.clientWidth, H: document.documentElement.scrollHeight})", &size); err != nil {
		return nil, err
	}
	if height > 0 {
		size.H = min(size.H, float64(height))
	}
	var r struct {
		Data string `json:"data"`
	}
	text, err := p.Call("Page.captureScreenshot", map[string]any{
		"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": size.W, "height": size.H, "scale": 1},
	})
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(r.Data)
}

// Close closes the tab.
func (p *Page) Close() error {
	_, err := p.Call("Page.close", nil)
	p.browser.mutex.Lock()
	defer p.browser.mutex.Unlock()
	delete(p.browser.pages, p.session)
	return err
}

// get calls a method and decodes its result into v.
func (b *Browser) get(session, method string, params, v any) error {
	text, err := b.call(session, method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
