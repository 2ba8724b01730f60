package apm

import "time"

// metadata describes the process of the events, as an agent does once per body.
func (m *maker) metadata() {
	const service = `"service":{"name":"takt-shop","version":"1.4.2","environment":"load-test","language":{"name":"go","version":"1.26"},"runtime":{"name":"gc","version":"1.26"},"framework":{"name":"gin","version":"1.10.0"},"agent":{"name":"go","version":"2.6.0"}}`
	if m.form.rum {
		m.raw(`"service":{"name":"takt-shop-ui","version":"1.4.2","environment":"load-test","language":{"name":"javascript"},"agent":{"name":"rum-js","version":"5.16.1"}}`)
		return
	}
	m.raw(service)
	m.number(`,"process":{"pid":`, 1000+m.rnd.IntN(9000), `,"ppid":1,"argv":["/srv/shop/bin/shop","--listen",":8080"]}`)
	m.number(`,"system":{"hostname":"shop-`, 10+m.rnd.IntN(90), `","architecture":"amd64","platform":"linux"}`)
}

// transactionHead begins a transaction, to which its spans and errors refer. It ends before
// the closing brace.
func (m *maker) transactionHead(spans int) {
	m.trace, m.transaction = m.id(16), m.id(8)
	m.took = m.between(5, 900)
	m.at = m.now.Add(-time.Duration(m.rnd.IntN(10_000_000)) * time.Microsecond)
	id := m.transaction
	if m.form.v1 {
		m.transaction = m.uuid()
		id = m.transaction
	}
	m.text(`{"id":"`, id, `",`)
	m.timestamp(m.at)
	if m.form.rum {
		m.raw(`,"name":"/checkout","type":"page-load","result":"`)
	} else {
		m.text(`,"name":"`, m.of("GET /orders/:id", "POST /basket", "GET /catalog/:section", "PUT /customers/:id/address", "GET /search"), `","type":"request","result":"`)
	}
	m.text("", m.of("HTTP 2xx", "HTTP 2xx", "HTTP 2xx", "HTTP 4xx", "HTTP 5xx"), `"`)
	m.millis(`,"duration":`, m.took, `,"sampled":true,`)
	if m.form.v1 {
		m.raw(`"span_count":{"dropped":{"total":0}},`)
	} else {
		m.text(`"trace_id":"`, m.trace, `",`)
		m.number(`"span_count":{"started":`, spans, `,"dropped":0},`)
	}
	m.context()
	if m.form.rum {
		m.millis(`,"marks":{"agent":{"timeToFirstByte":`, m.between(1, m.took), `,`)
		m.millis(`"domInteractive":`, m.took/2, `,`)
		m.millis(`"domComplete":`, m.took, `}}`)
	}
}

// context is the context of a request to the application.
func (m *maker) context() {
	if m.form.rum {
		m.text(`"context":{"page":{"referer":"https://shop.example.com/`, m.of("cart", "catalog", "search"), `","url":"https://shop.example.com/checkout"},`)
		m.number(`"user":{"id":"`, 100_000+m.rnd.IntN(900_000), `"}}`)
		return
	}
	path := m.of("orders", "basket", "catalog", "customers", "search")
	m.text(`"context":{"request":{"http_version":"1.1","method":"`, m.of("GET", "POST", "PUT"), `","url":{"protocol":"http:","hostname":"shop.example.com","port":"443",`)
	m.text(`"pathname":"/`, path, ``)
	m.number(`/`, 10_000+m.rnd.IntN(90_000), `",`)
	m.text(`"search":"?session=`, m.id(8), `",`)
	m.text(`"raw":"/`, path, ``)
	m.number(`/`, 10_000+m.rnd.IntN(90_000), `"},`)
	m.raw(`"headers":{"user-agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36","content-type":"application/json",`)
	m.text(`"cookie":"session=`, m.id(16), `; theme=dark"},`)
	m.number(`"socket":{"remote_address":"10.1.`, 10+m.rnd.IntN(90), ``)
	m.number(`.`, 10+m.rnd.IntN(90), `","encrypted":true}},`)
	m.text(`"response":{"status_code":`, m.of("200", "201", "204", "404", "500"), `,"headers_sent":true,"finished":true,"headers":{"content-type":"application/json"}},`)
	m.number(`"user":{"id":"`, 100_000+m.rnd.IntN(900_000), `","username":"`)
	m.text("", word(m.rnd), `"},`)
	m.text(`"tags":{"region":"`, m.of("eu-west", "us-east", "ap-south"), `","tenant":"`)
	m.text("", word(m.rnd), `"},"custom":{"shard":"`)
	m.text("", m.id(4), `"}}`)
}

// span is part i of the current transaction.
func (m *maker) span(i, frames int) {
	start := m.between(0, m.took*0.9)
	if m.form.v1 {
		m.number(`{"id":`, i, `,"parent":null`)
	} else {
		m.text(`{"id":"`, m.id(8), `",`)
		m.text(`"trace_id":"`, m.trace, `",`)
		m.text(`"transaction_id":"`, m.transaction, `",`)
		m.text(`"parent_id":"`, m.transaction, `",`)
		m.timestamp(m.at.Add(time.Duration(start * float64(time.Millisecond))))
	}
	m.millis(`,"start":`, start, ``)
	m.millis(`,"duration":`, m.between(0.05, m.took-start), `,`)
	m.work()
	if frames > 0 {
		m.stack(`,"stacktrace":[`, frames, `]`)
	}
	m.raw("}")
}

// work is the work of a span.
func (m *maker) work() {
	table := word(m.rnd)
	switch {
	case m.form.rum:
		m.text(`"name":"https://shop.example.com/static/`, table, `.bundle.min.js","type":"resource.script"`)
	case m.rnd.IntN(3) > 0:
		m.text(`"name":"SELECT FROM `, table, `","type":"db.postgresql.query","context":{"db":{"instance":"shop","type":"sql","user":"shop",`)
		m.text(`"statement":"SELECT id, name, updated_at FROM `, table, ` WHERE `)
		m.text("", word(m.rnd), `_id = `)
		m.number("", m.rnd.IntN(1_000_000), ` ORDER BY updated_at DESC LIMIT 50"}}`)
	default:
		m.text(`"name":"GET `, table, `.internal","type":"external.http","context":{"http":{"method":"GET","status_code":200,"url":"http://`)
		m.text("", table, `.internal/v2/`)
		m.number("", m.rnd.IntN(1_000_000), `"}}`)
	}
}

// failure is an error, of the current transaction if there is one.
func (m *maker) failure(frames int) {
	id, parent := m.id(16), `"trace_id":"`+m.trace+`","transaction_id":"`+m.transaction+`","parent_id":"`+m.transaction+`",`
	if m.form.v1 {
		id, parent = m.uuid(), `"transaction":{"id":"`+m.transaction+`"},`
	}
	m.text(`{"id":"`, id, `",`)
	at := m.at
	if m.transaction == "" {
		at, parent = m.now.Add(-time.Duration(m.rnd.IntN(10_000_000))*time.Microsecond), ""
	}
	m.timestamp(at)
	m.text(`,`, parent, ``)
	m.text(`"culprit":"`, word(m.rnd), `.`)
	m.text("", title(word(m.rnd)), `","exception":{"type":"`)
	m.text("", m.of("NotFoundError", "TimeoutError", "ValidationError", "ConflictError"), `","message":"`)
	m.text("", word(m.rnd), ` `)
	m.number("", m.rnd.IntN(1_000_000), ` is not `)
	m.text("", m.of("there", "valid", "reachable", "free"), `","handled":false`)
	if frames > 0 {
		m.stack(`,"stacktrace":[`, frames, `]`)
	}
	m.raw("},")
	m.context()
	m.raw("}")
}

// metrics are an agent's figures of its process, every 30 s.
func (m *maker) metrics() {
	m.raw("{")
	m.timestamp(m.now.Add(-time.Duration(m.rnd.IntN(10_000_000)) * time.Microsecond))
	m.number(`,"samples":{"system.memory.total":{"value":8349302784},"system.memory.actual.free":{"value":`, m.rnd.IntN(1<<33), `},`)
	m.millis(`"system.cpu.total.norm.pct":{"value":`, m.rnd.Float64(), `},`)
	m.millis(`"system.process.cpu.total.norm.pct":{"value":`, m.rnd.Float64(), `},`)
	m.number(`"golang.goroutines":{"value":`, m.rnd.IntN(1000), `},`)
	m.number(`"golang.heap.allocations.active":{"value":`, m.rnd.IntN(1<<30), `}},`)
	m.text(`"tags":{"tenant":"`, word(m.rnd), `"}}`)
}
