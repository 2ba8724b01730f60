package cli_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop is an application that checks all it asks of its users: the token of the form, the cookie, the bearer token, ids
// that belong to the session, today's date, and ids that are used once.
type shop struct {
	*httptest.Server

	mu       sync.Mutex
	sessions map[string]*shopper
	bearers  map[string]*shopper
	seen     map[string]bool // ids of clients
	faults   []string        // rules that requests broke
	done     int             // rounds that saw the last page
	notes    int
}

// shopper is one session.
type shopper struct {
	csrf, meta, bearer string
	user               string
	orders             []shopOrder
	note, ticket       string
}

type shopOrder struct {
	ID   string `json:"id"`
	SKU  string `json:"sku"`
	code string
	by   string // id of the request that made it
}

func newShop(t *testing.T, secure bool) *shop {
	s := &shop{sessions: map[string]*shopper{}, bearers: map[string]*shopper{}, seen: map[string]bool{}}
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request) string{
		"GET /{$}": s.start, "GET /static/{file}": s.static, "GET /login": s.login, "POST /login": s.enter, "GET /home": s.home,
		"POST /api/token": s.token, "GET /api/orders": s.list, "GET /api/orders/{id}": s.show, "POST /api/orders": s.order,
		"POST /api/orders/{id}/pay": s.pay, "GET /orders/{id}": s.page, "POST /orders/{id}/note": s.note, "GET /notes/{id}": s.last,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if fault := h(w, q); fault != "" {
				s.faults = append(s.faults, q.Method+" "+q.URL.Path+": "+fault)
				http.Error(w, fault, http.StatusForbidden)
			}
		})
	}
	if s.Server = httptest.NewUnstartedServer(mux); secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// reset forgets what happened, but not the ids that were used.
func (s *shop) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.done = nil, 0
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// once reports whether a client sends an id for the first time.
func (s *shop) once(id string) bool {
	fresh := len(id) == 36 && !s.seen[id]
	s.seen[id] = true
	return fresh
}

func (s *shop) of(q *http.Request) *shopper {
	c, err := q.Cookie("sid")
	if err != nil {
		return nil
	}
	return s.sessions[c.Value]
}

func page(w http.ResponseWriter, text string, v any) string {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := template.Must(template.New("").Parse(`<!doctype html><html><head><link rel="stylesheet" href="/static/shop.css"><link rel=icon href="data:,"><title>shop</title>`+text)).Execute(w, v); err != nil {
		return err.Error()
	}
	return ""
}

func (s *shop) start(w http.ResponseWriter, _ *http.Request) string {
	return page(w, `<script src="/static/shop.js"></script></head><body><h1>Shop</h1><a href="/login">log in</a><script>if (steps) setTimeout(() => location = "/login", 300)</script>`, nil)
}

func (s *shop) static(w http.ResponseWriter, q *http.Request) string {
	switch q.PathValue("file") {
	case "shop.css":
		w.Header().Set("Content-Type", "text/css")
		fmt.Fprint(w, "h1 { color: green }")
	case "shop.js":
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `const key = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"; const steps = true; const uuid = () => "10000000-1000-4000-8000-100000000000".replace(/[018]/g, c => (+c ^ crypto.getRandomValues(new Uint8Array(1))[0] & 15 >> +c / 4).toString(16));`)
	}
	return ""
}

func (s *shop) login(w http.ResponseWriter, _ *http.Request) string {
	sid := random(16)
	u := &shopper{csrf: random(12)}
	s.sessions[sid] = u
	http.SetCookie(w, &http.Cookie{Name: "sid", Value: sid, Path: "/", HttpOnly: true})
	return page(w, `<script src="/static/shop.js"></script></head><body><form method="post" action="/login"><input type="hidden" name="csrf" value="{{.}}"><input name="user"><input type="password" name="password"><button>ok</button></form>
<script>const f = document.forms[0]; f.user.value = "ann"; f.password.value = "a&b tiger"; setTimeout(() => f.submit(), 250)</script>`, u.csrf)
}

func (s *shop) enter(w http.ResponseWriter, q *http.Request) string {
	u := s.of(q)
	switch {
	case u == nil:
		return "no session"
	case q.PostFormValue("csrf") != u.csrf:
		return "the token of the form is not that of the session"
	case q.PostFormValue("user") != "ann" || q.PostFormValue("password") != "a&b tiger":
		return "wrong password"
	case q.Header.Get("Origin") != s.URL:
		return "the origin is " + q.Header.Get("Origin")
	}
	u.user, u.meta = "ann", random(10)
	for range 3 {
		u.orders = append(u.orders, shopOrder{ID: "o-" + random(6), SKU: "S" + strings.ToUpper(random(4))})
	}
	http.Redirect(w, q, "/home", http.StatusSeeOther)
	return ""
}

func (s *shop) home(w http.ResponseWriter, q *http.Request) string {
	u := s.of(q)
	if u == nil || u.user == "" {
		return "not logged in"
	}
	return page(w, `<meta name="csrf-token" content="{{.}}"><script src="/static/shop.js"></script></head><body><script>
(async () => {
	const ask = async (at, o = {}) => { const r = await fetch(at, o); if (!r.ok) throw new Error(at + " " + r.status + " " + await r.text()); return r; };
	const token = (await (await ask("/api/token", {method: "POST", headers: {"X-CSRF-Token": document.querySelector("meta[name=csrf-token]").content, "X-Api-Key": key}})).json()).data.access_token;
	const bearer = {Authorization: "Bearer " + token};
	const day = new Date().toISOString().slice(0, 10);
	const list = await (await ask("/api/orders?" + new URLSearchParams({day, size: 20, _: Date.now()}), {headers: bearer})).json();
	await Promise.all([1, 2].map(i => ask("/api/orders/" + list.orders[i].id, {headers: bearer})));
	const request = uuid();
	const made = await ask("/api/orders", {method: "POST", headers: {...bearer, "Content-Type": "application/json", "Idempotency-Key": uuid()}, body: JSON.stringify({request_id: request, created_at: new Date().toISOString(), sku: list.orders[0].sku, quantity: 2}, null, 2)});
	const order = await made.json();
	await ask(made.headers.get("Location") + "/pay", {method: "POST", headers: {...bearer, "Content-Type": "application/json"}, body: JSON.stringify({code: order.confirm.code, request_id: request})});
	location = "/orders/" + order.id;
})().catch(e => document.title = "failed: " + e)
</script>`, u.meta)
}

func (s *shop) token(w http.ResponseWriter, q *http.Request) string {
	u := s.of(q)
	if u == nil || q.Header.Get("X-Csrf-Token") != u.meta {
		return "the token of the page is not that of the session"
	}
	if q.Header.Get("X-Api-Key") != "9f8e7d6c5b4a39281706f5e4d3c2b1a0" {
		return "wrong key"
	}
	u.bearer = "eyJ" + random(20) + "." + random(8)
	s.bearers[u.bearer] = u
	return reply(w, http.StatusOK, map[string]any{"data": map[string]any{"access_token": u.bearer, "token_type": "Bearer", "expires_in": 3600}})
}

func reply(w http.ResponseWriter, status int, v any) string {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
	return ""
}

// bearer is the session of a bearer token, if it is that of the cookie.
func (s *shop) bearer(q *http.Request) *shopper {
	if u := s.bearers[strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")]; u != nil && u == s.of(q) {
		return u
	}
	return nil
}

func (s *shop) list(w http.ResponseWriter, q *http.Request) string {
	u := s.bearer(q)
	switch {
	case u == nil:
		return "no token of this session"
	case q.FormValue("day") != time.Now().UTC().Format(time.DateOnly):
		return "the day is " + q.FormValue("day")
	case q.FormValue("size") != "20":
		return "the size is " + q.FormValue("size")
	case !isNow(q.FormValue("_")):
		return "the time is " + q.FormValue("_")
	}
	return reply(w, http.StatusOK, map[string]any{"total": 3, "orders": u.orders, "day": q.FormValue("day")})
}

// isNow reports whether a text is about now, in milliseconds or by RFC 3339.
func isNow(text string) bool {
	var ms int64
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if _, err = fmt.Sscan(text, &ms); err != nil {
			return false
		}
		t = time.UnixMilli(ms)
	}
	return time.Since(t).Abs() < time.Minute
}

// orderOf is an order of a session.
func orderOf(u *shopper, id string) *shopOrder {
	if i := slices.IndexFunc(u.orders, func(o shopOrder) bool { return o.ID == id }); i >= 0 {
		return &u.orders[i]
	}
	return nil
}

func (s *shop) show(w http.ResponseWriter, q *http.Request) string {
	u := s.bearer(q)
	if u == nil || orderOf(u, q.PathValue("id")) == nil {
		return "no order of this session"
	}
	return reply(w, http.StatusOK, orderOf(u, q.PathValue("id")))
}

func (s *shop) order(w http.ResponseWriter, q *http.Request) string {
	u := s.bearer(q)
	var o struct {
		RequestID string `json:"request_id"`
		CreatedAt string `json:"created_at"`
		SKU       string
		Quantity  int
	}
	switch err := json.NewDecoder(q.Body).Decode(&o); {
	case err != nil:
		return err.Error()
	case u == nil:
		return "no token of this session"
	case !s.once(o.RequestID) || !s.once(q.Header.Get("Idempotency-Key")):
		return "an id was used before"
	case !isNow(o.CreatedAt):
		return "it was created at " + o.CreatedAt
	case o.SKU != u.orders[0].SKU || o.Quantity != 2:
		return "it is not what the list has"
	}
	one := shopOrder{ID: "o-" + random(6), code: random(6), by: o.RequestID}
	u.orders = append(u.orders, one)
	w.Header().Set("Location", "/api/orders/"+one.ID)
	return reply(w, http.StatusCreated, map[string]any{"id": one.ID, "confirm": map[string]string{"code": one.code}})
}

func (s *shop) pay(w http.ResponseWriter, q *http.Request) string {
	u := s.bearer(q)
	var p struct {
		Code      string
		RequestID string `json:"request_id"`
	}
	err := json.NewDecoder(q.Body).Decode(&p)
	if err != nil || u == nil || orderOf(u, q.PathValue("id")) == nil {
		return fmt.Sprint("no order of this session: ", err)
	}
	switch o := orderOf(u, q.PathValue("id")); {
	case p.Code != o.code:
		return "the code is not that of the order"
	case p.RequestID != o.by:
		return "the id of the request is not that of the order"
	}
	w.WriteHeader(http.StatusNoContent)
	return ""
}

func (s *shop) page(w http.ResponseWriter, q *http.Request) string {
	u := s.of(q)
	if u == nil || orderOf(u, q.PathValue("id")) == nil {
		return "no order of this session"
	}
	u.note = random(9)
	return page(w, `</head><body><h1>Order</h1>
<form method="post" action="{{.ID}}/note"><input name="text" value="thanks a lot"><input type="hidden" name="at"><input value="{{.Token}}" type="hidden"
 name="_note"></form>
<script>const f = document.forms[0]; f.at.value = Math.floor(Date.now() / 1000); setTimeout(() => f.submit(), 400)</script>`, struct{ ID, Token string }{q.PathValue("id"), u.note})
}

func (s *shop) note(w http.ResponseWriter, q *http.Request) string {
	u := s.of(q)
	switch {
	case u == nil || orderOf(u, q.PathValue("id")) == nil:
		return "no order of this session"
	case q.PostFormValue("_note") != u.note || q.PostFormValue("text") != "thanks a lot":
		return "the token of the form is not that of the page"
	case !isNow(q.PostFormValue("at") + "000"):
		return "the time is " + q.PostFormValue("at")
	case q.Header.Get("Referer") != s.URL+"/orders/"+q.PathValue("id"):
		return "the referer is " + q.Header.Get("Referer")
	}
	s.notes++
	u.note, u.ticket = fmt.Sprint(s.notes), "T"+random(5)
	http.Redirect(w, q, "/notes/"+u.note+"?ticket="+u.ticket, http.StatusSeeOther)
	return ""
}

func (s *shop) last(w http.ResponseWriter, q *http.Request) string {
	u := s.of(q)
	if u == nil || q.PathValue("id") != u.note || q.FormValue("ticket") != u.ticket {
		return "not the note of this session"
	}
	s.done++
	return page(w, `</head><body><h1>Done</h1><script>document.title = "done"</script>`, nil)
}

// visitor is a browser without a window.
type visitor struct {
	t      *testing.T
	s      *shop
	client *http.Client
}

// ask sends a request, and returns the answer with its body.
func (v *visitor) ask(method, at, body string, header ...string) (*http.Response, string) {
	v.t.Helper()
	q, err := http.NewRequestWithContext(v.t.Context(), method, v.s.URL+at, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	q.Header.Set("User-Agent", "visitor")
	q.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != http.MethodGet {
		q.Header.Set("Origin", v.s.URL)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a, err := v.client.Do(q)
	if err != nil {
		v.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode >= 400 {
		v.t.Fatalf("%s %s: %d %s %v", method, at, a.StatusCode, text, err)
	}
	return a, string(text)
}

// between is the text between two others.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// visit does what the scripts of the pages do.
func (v *visitor) visit() {
	const form = "application/x-www-form-urlencoded"
	v.ask("GET", "/", "")
	v.ask("GET", "/static/shop.css", "")
	_, script := v.ask("GET", "/static/shop.js", "")
	_, login := v.ask("GET", "/login", "")
	a, _ := v.ask("POST", "/login", url.Values{"csrf": {between(login, `name="csrf" value="`, `"`)}, "user": {"ann"}, "password": {"a&b tiger"}}.Encode(), "Content-Type", form)
	_, home := v.ask("GET", a.Header.Get("Location"), "")
	_, token := v.ask("POST", "/api/token", "", "X-CSRF-Token", between(home, `content="`, `"`), "X-Api-Key", between(script, `key = "`, `"`))
	bearer := "Bearer " + between(token, `"access_token":"`, `"`)
	_, text := v.ask("GET", fmt.Sprintf("/api/orders?day=%s&size=20&_=%d", time.Now().UTC().Format(time.DateOnly), time.Now().UnixMilli()), "", "Authorization", bearer)
	var list struct{ Orders []shopOrder }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		v.t.Fatal(err)
	}
	for _, i := range []int{1, 2} {
		v.ask("GET", "/api/orders/"+list.Orders[i].ID, "", "Authorization", bearer)
	}
	request := newUUID()
	a, made := v.ask("POST", "/api/orders", fmt.Sprintf("{\n  \"request_id\": %q,\n  \"created_at\": %q,\n  \"sku\": %q,\n  \"quantity\": 2\n}", request, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), list.Orders[0].SKU), "Authorization", bearer, "Content-Type", "application/json", "Idempotency-Key", newUUID())
	v.ask("POST", a.Header.Get("Location")+"/pay", fmt.Sprintf(`{"code":%q,"request_id":%q}`, between(made, `"code":"`, `"`), request), "Authorization", bearer, "Content-Type", "application/json")
	at := "/orders/" + between(made, `"id":"`, `"`)
	_, order := v.ask("GET", at, "")
	a, _ = v.ask("POST", at+"/note", url.Values{"text": {"thanks a lot"}, "at": {fmt.Sprint(time.Now().Unix())}, "_note": {between(order, `<input value="`, `"`)}}.Encode(), "Content-Type", form, "Referer", v.s.URL+at)
	v.ask("GET", a.Header.Get("Location"), "")
}

func newUUID() string {
	h := random(16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}
