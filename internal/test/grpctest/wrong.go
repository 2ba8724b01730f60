package grpctest

import (
	"bytes"
	"compress/gzip"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// Classes of failures of clients that a Wrong names: those of takt.
const (
	Cardinality = "cardinality" // OK, and not the number of messages that the method has; fine for a stream of answers
	Closed      = "closed"      // the connection ended before an answer
	Malformed   = "malformed"
	NoStatus    = "no_status"
	NotGRPC     = "not_grpc"
	Refused     = "refused_stream"
	Reset       = "reset"
	Timeout     = "timeout"
	TooLarge    = "too_large"
	Truncated   = "truncated" // the connection, or the answer, ended within the answer
)

// MessageMax is the largest message that a client should accept here, in bytes.
const MessageMax = 1 << 20

// Wrong is something that a server does to a call. The functions may wait for the client; they run beside the reader of
// their connection.
type Wrong struct {
	Name  string
	Class string                     // how a client should class each call of a method with one answer; "": it is good
	Greet func(c *Conn)              // instead of empty SETTINGS
	Open  func(c *Conn, call uint32) // follows the head of a call
	Serve func(c *Conn, call uint32) // follows a call's end
}

// ClassOf is Class, or that of a method with a stream of answers.
func (w Wrong) ClassOf(stream bool) string {
	if stream && w.Class == Cardinality {
		return ""
	}
	return w.Class
}

// What a good answer consists of.
var (
	head = []string{":status", "200", "content-type", "application/grpc"}
	ok   = []string{"grpc-status", "0"}
	one  = Message(0, 2, "\x0a\x00")
)

func with(fields ...string) []string { return append(head[:len(head):len(head)], fields...) }

// answer is a head, bodies in frames of their own, and trailers; nil: the last body ends the stream.
func answer(head []string, trailers []string, bodies ...string) func(c *Conn, call uint32) {
	return func(c *Conn, call uint32) {
		c.Head(call, false, head...)
		for i, b := range bodies {
			c.Data(call, trailers == nil && i == len(bodies)-1, b)
		}
		if trailers != nil {
			c.Head(call, true, trailers...)
		}
	}
}

// only is an answer of one block.
func only(fields ...string) func(c *Conn, call uint32) {
	return func(c *Conn, call uint32) { c.Head(call, true, fields...) }
}

// after is an answer with these bodies, and then something else.
func after(then func(c *Conn, call uint32), bodies ...string) func(c *Conn, call uint32) {
	return func(c *Conn, call uint32) {
		c.Head(call, false, head...)
		for _, b := range bodies {
			c.Data(call, false, b)
		}
		then(c, call)
	}
}

func reset(code http2.ErrCode) func(c *Conn, call uint32) {
	return func(c *Conn, call uint32) { c.Reset(call, code) }
}

func hangUp(c *Conn, _ uint32) { c.Close() }

// until does something again and again until the client leaves.
func until(every time.Duration, do func(c *Conn, call uint32) bool) func(c *Conn, call uint32) {
	return func(c *Conn, call uint32) {
		for do(c, call) {
			select {
			case <-c.Gone():
				return
			case <-time.After(every):
			}
		}
	}
}

// Zipped is s compressed with gzip.
func Zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // a buffer's errors
	_ = w.Close()
	return b.String()
}

func packed(s string) string { return Message(1, uint32(len(s)), s) }

// All are the wrong servers, and good ones that look wrong.
func All() []Wrong {
	bomb := Zipped(strings.Repeat("a", 64<<20))
	good := Zipped("\x0a\x00")
	coded := with("grpc-encoding", "gzip")
	return []Wrong{
		{Name: "good", Serve: answer(head, ok, one)},

		// The status.
		{Name: "no trailers", Class: NoStatus, Serve: answer(head, nil, one)},
		{Name: "END_STREAM on a head without a status", Class: NoStatus, Serve: only(head...)},
		{Name: "trailers without a status", Class: NoStatus, Serve: answer(head, []string{"a", "b"}, one)},
		{Name: "trailers alone", Class: "unavailable", Serve: only(with("grpc-status", "14")...)},
		{Name: "trailers alone that say OK", Class: Cardinality, Serve: only(with("grpc-status", "0")...)},
		{Name: "the status in the head, and no trailers", Class: NoStatus, Serve: answer(with("grpc-status", "0"), nil, one)},
		{Name: "another status in the head", Serve: answer(with("grpc-status", "13"), ok, one)},
		{Name: "a status that is no number", Class: Malformed, Serve: answer(head, []string{"grpc-status", "OK"}, one)},
		{Name: "an empty status", Class: Malformed, Serve: answer(head, []string{"grpc-status", ""}, one)},
		{Name: "a negative status", Class: Malformed, Serve: answer(head, []string{"grpc-status", "-1"}, one)},
		{Name: "a status of 20 digits", Class: Malformed, Serve: answer(head, []string{"grpc-status", strings.Repeat("9", 20)}, one)},
		{Name: "status 17", Class: "unknown", Serve: answer(head, []string{"grpc-status", "17"}, one)},
		{Name: "status 99999", Class: "unknown", Serve: answer(head, []string{"grpc-status", "99999"}, one)},
		{Name: "two statuses", Class: Malformed, Serve: answer(head, []string{"grpc-status", "0", "grpc-status", "13"}, one)},
		{Name: "a bad percent encoding", Class: "internal", Serve: answer(head, []string{"grpc-status", "13", "grpc-message", "%zz%%4"}, one)},
		{Name: "control characters in a message", Class: "internal", Serve: answer(head, []string{"grpc-status", "13", "grpc-message", "%1b[31m%00%ff"}, one)},
		{Name: "a message of 20 kB", Class: "internal", Serve: answer(head, []string{"grpc-status", "13", "grpc-message", strings.Repeat("x", 20_000)})},
		{Name: "details that are no base64", Class: "internal", Serve: answer(head, []string{"grpc-status", "13", "grpc-status-details-bin", "!!"})},
		{Name: "a failure after messages", Class: "not_found", Serve: answer(head, []string{"grpc-status", "5"}, one, one, one)},
		{Name: "a failure within a message", Class: "data_loss", Serve: answer(head, []string{"grpc-status", "15"}, one[:6])},

		// Messages.
		{Name: "longer than said", Class: Truncated, Serve: answer(head, ok, one+"ab")},
		{Name: "shorter than said", Class: Truncated, Serve: answer(head, ok, one[:6])},
		{Name: "shorter than said, and no trailers", Class: Truncated, Serve: answer(head, nil, one[:6])},
		{Name: "half a prefix", Class: Truncated, Serve: answer(head, ok, one[:3])},
		{Name: "two messages", Class: Cardinality, Serve: answer(head, ok, one, one)},
		{Name: "no message", Class: Cardinality, Serve: answer(head, ok)},
		{Name: "an empty message", Serve: answer(head, ok, Message(0, 0, ""))},
		{Name: "compressed without an encoding", Class: Malformed, Serve: answer(head, ok, packed(good))},
		{Name: "an unknown encoding", Class: Malformed, Serve: answer(with("grpc-encoding", "snappy"), ok, packed(good))},
		{Name: "an unknown encoding that is not used", Serve: answer(with("grpc-encoding", "snappy"), ok, one)},
		{Name: "compressed", Serve: answer(coded, ok, packed(good))},
		{Name: "compressed in pieces", Serve: answer(coded, ok, strings.Split(packed(good), "")...)},
		{Name: "a gzip bomb", Class: TooLarge, Serve: answer(coded, ok, chunks(packed(bomb))...)},
		{Name: "gzip that is cut", Class: Malformed, Serve: answer(coded, ok, packed(good[:len(good)-4]))},
		{Name: "gzip of no bytes", Class: Malformed, Serve: answer(coded, ok, packed(""))},
		{Name: "2^32-1 bytes", Class: TooLarge, Serve: answer(head, ok, Message(0, 1<<32-1, "a"))},
		{Name: "2^32-1 bytes, compressed", Class: TooLarge, Serve: answer(coded, ok, Message(1, 1<<32-1, "a"))},
		{Name: "2^31 bytes", Class: TooLarge, Serve: answer(head, ok, Message(0, 1<<31, "a"))},
		{Name: "a byte above the limit", Class: TooLarge, Serve: answer(head, ok, Message(0, MessageMax+1, "a"))},
		{Name: "flag 255", Class: Malformed, Serve: answer(head, ok, Message(255, 0, ""))},

		// The end before the end.
		{Name: "a reset before the head", Class: Reset, Serve: reset(http2.ErrCodeInternal)},
		{Name: "a reset after the head", Class: Reset, Serve: after(reset(http2.ErrCodeCancel))},
		{Name: "a reset within a message", Class: Reset, Serve: after(reset(http2.ErrCodeEnhanceYourCalm), one[:6])},
		{Name: "a reset before the trailers", Class: Reset, Serve: after(reset(http2.ErrCodeNo), one)},
		{Name: "a reset after the trailers", Serve: after(func(c *Conn, call uint32) {
			c.Head(call, true, ok...)
			c.Reset(call, http2.ErrCodeNo)
		}, one)},
		{Name: "REFUSED_STREAM each time", Class: Refused, Serve: reset(http2.ErrCodeRefusedStream)},
		{Name: "an unknown code of a reset", Class: Reset, Serve: reset(1<<32 - 1)},
		{Name: "GOAWAY without the call, each time", Class: Closed, Serve: func(c *Conn, _ uint32) {
			c.GoAway(0, http2.ErrCodeNo)
			c.Close()
		}},
		{Name: "GOAWAY, and the answer", Serve: func(c *Conn, call uint32) {
			c.GoAway(call, http2.ErrCodeNo)
			answer(head, ok, one)(c, call)
		}},
		{Name: "GOAWAY within the answer", Class: Truncated, Serve: after(func(c *Conn, call uint32) {
			c.GoAway(call, http2.ErrCodeInternal)
			c.Close()
		}, one[:6])},
		{Name: "the end after the head", Class: Truncated, Serve: after(hangUp)},
		{Name: "the end within a message", Class: Truncated, Serve: after(hangUp, one[:6])},
		{Name: "the end before the trailers", Class: Truncated, Serve: after(hangUp, one)},

		// Not gRPC.
		{Name: "status 503 with a page", Class: "5xx", Serve: answer([]string{":status", "503", "content-type", "text/html"}, nil, "<html>")},
		{Name: "status 404 with a page", Class: "4xx", Serve: answer([]string{":status", "404", "content-type", "text/plain"}, nil, "404 page not found")},
		{Name: "status 429 of gRPC", Class: "4xx", Serve: only(":status", "429", "content-type", "application/grpc")},
		{Name: "a redirect", Class: "3xx", Serve: only(":status", "302", "location", "/")},
		{Name: "status 204", Class: "2xx", Serve: only(":status", "204")},
		{Name: "a page", Class: NotGRPC, Serve: answer([]string{":status", "200", "content-type", "text/html"}, nil, "<html>")},
		{Name: "no content type", Class: NotGRPC, Serve: answer([]string{":status", "200"}, ok, one)},
		{Name: "gRPC-Web", Class: NotGRPC, Serve: answer([]string{":status", "200", "content-type", "application/grpc-web+proto"}, nil, one)},
		{Name: "a type that begins alike", Class: NotGRPC, Serve: answer([]string{":status", "200", "content-type", "application/grpcish"}, ok, one)},
		{Name: "a type with parameters", Serve: answer([]string{":status", "200", "content-type", "application/grpc+proto; a=b"}, ok, one)},

		// Frames.
		{Name: "a byte a frame", Serve: answer(head, ok, strings.Split(one, "")...)},
		{Name: "blocks of a byte a frame", Serve: func(c *Conn, call uint32) {
			c.Pieces(call, false, head...)
			c.Data(call, false, one)
			c.Pieces(call, true, ok...)
		}},
		{Name: "padding", Serve: after(func(c *Conn, call uint32) {
			for i := range one {
				c.Frame(http2.FrameData, http2.FlagDataPadded, call, "\xff"+one[i:i+1]+strings.Repeat("\x00", 255))
			}
			c.Head(call, true, ok...)
		})},
		{Name: "padding longer than its frame", Class: Malformed, Serve: after(func(c *Conn, call uint32) {
			c.Frame(http2.FrameData, http2.FlagDataPadded, call, "\xffab")
		})},
		{Name: "100 empty DATA frames", Serve: answer(head, ok, append(make([]string, 100), one)...)},
		{Name: "empty DATA frames without end", Class: Malformed, Serve: func(c *Conn, call uint32) {
			c.Head(call, false, head...)
			some := bytes.Repeat(frame(http2.FrameData, 0, call, ""), 1000)
			until(time.Millisecond, func(c *Conn, _ uint32) bool { return c.Bytes(some) })(c, call)
		}},
		{Name: "trailers with a pseudo-header", Class: Malformed, Serve: answer(head, []string{":status", "200", "grpc-status", "0"}, one)},
		{Name: "trailers that do not end the stream", Class: Malformed, Serve: after(func(c *Conn, call uint32) { c.Head(call, false, ok...) }, one)},
		{Name: "trailers twice", Serve: after(func(c *Conn, call uint32) {
			c.Head(call, true, ok...)
			c.Head(call, true, "grpc-status", "13")
		}, one)},
		{Name: "a second head", Class: Malformed, Serve: after(func(c *Conn, call uint32) { c.Head(call, false, head...) }, one)},
		{Name: "an interim answer", Serve: func(c *Conn, call uint32) {
			c.Head(call, false, ":status", "103", "link", "</a>")
			answer(head, ok, one)(c, call)
		}},
		{Name: "DATA before the head", Class: Malformed, Serve: func(c *Conn, call uint32) { c.Data(call, false, one) }},
		{Name: "DATA on a stream that nobody opened", Class: Malformed, Serve: func(c *Conn, _ uint32) { c.Data(1001, false, one) }},
		{Name: "a frame above the limit", Class: Malformed, Serve: after(func(c *Conn, call uint32) { c.Data(call, false, strings.Repeat("\x00", 16385)) })},
		{Name: "a block that cannot be decoded", Class: Malformed, Serve: func(c *Conn, call uint32) {
			c.Frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, call, "\xff\xff\xff\xff\xff")
		}},
		{Name: "a head of 1 MB", Class: TooLarge, Serve: func(c *Conn, call uint32) {
			b := frame(http2.FrameHeaders, 0, call, "\x00\x01a\x7f\xc1\x83\x3d")
			for range 64 {
				b = append(b, frame(http2.FrameContinuation, 0, call, strings.Repeat("x", 16384))...)
			}
			c.Bytes(b)
		}},
		{Name: "PUSH_PROMISE", Class: Malformed, Serve: func(c *Conn, call uint32) { c.Frame(http2.FramePushPromise, 4, call, Numbers(2)) }},
		{Name: "a frame of an unknown type", Serve: func(c *Conn, call uint32) {
			c.Frame(0xfa, 0xff, call, "hello")
			answer(head, ok, one)(c, call)
		}},
		{Name: "a content-length that is wrong", Class: Malformed, Serve: answer(with("content-length", "3"), ok, one)},

		// Time, and what the connection itself is.
		{Name: "no answer", Class: Timeout, Serve: func(*Conn, uint32) {}},
		{Name: "a trickle", Class: Timeout, Serve: func(c *Conn, call uint32) {
			c.Head(call, false, head...)
			c.Data(call, false, Message(0, 1000, ""))
			until(5*time.Millisecond, func(c *Conn, call uint32) bool { return c.Data(call, false, "x") })(c, call)
		}},
		{Name: "PING without end", Class: Malformed, Serve: func(c *Conn, call uint32) {
			some := bytes.Repeat(frame(http2.FramePing, 0, 0, "takttakt"), 1000)
			until(time.Millisecond, func(c *Conn, _ uint32) bool { return c.Bytes(some) })(c, call)
		}},
		{Name: "1000 PINGs", Serve: func(c *Conn, call uint32) {
			c.Bytes(bytes.Repeat(frame(http2.FramePing, 0, 0, "takttakt"), 1000))
			answer(head, ok, one)(c, call)
		}},
		{Name: "SETTINGS that change", Serve: func(c *Conn, call uint32) {
			for i := range uint32(100) {
				c.Frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, i*1000)+setting(http2.SettingHeaderTableSize, i*100)+setting(http2.SettingMaxFrameSize, 16384+i))
			}
			c.Frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 65535))
			answer(head, ok, one)(c, call)
		}},
		{Name: "a setting that cannot be", Class: Malformed, Serve: func(c *Conn, _ uint32) {
			c.Frame(http2.FrameSettings, 0, 0, setting(http2.SettingMaxFrameSize, 1))
		}},
		{Name: "a window that opens late", Greet: func(c *Conn) { c.Frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 0)) },
			Open: func(c *Conn, call uint32) {
				for range 8 { // a byte a time: the request has a prefix and 2 bytes
					time.Sleep(time.Millisecond)
					c.Frame(http2.FrameWindowUpdate, 0, call, Numbers(1))
				}
			}, Serve: answer(head, ok, one)},
		{Name: "a window that stays shut", Class: Timeout, Greet: func(c *Conn) { c.Frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 0)) }},
		{Name: "a window above 2^31-1", Class: Malformed, Serve: func(c *Conn, _ uint32) { c.Frame(http2.FrameWindowUpdate, 0, 0, Numbers(1<<31-1)) }},
		{Name: "WINDOW_UPDATE of 0", Class: Malformed, Serve: func(c *Conn, call uint32) { c.Frame(http2.FrameWindowUpdate, 0, call, Numbers(0)) }},
		{Name: "an answer before the request has ended", Greet: func(c *Conn) { c.Frame(http2.FrameSettings, 0, 0, setting(http2.SettingInitialWindowSize, 0)) },
			Class: "unauthenticated", Open: func(c *Conn, call uint32) {
				c.Head(call, true, with("grpc-status", "16")...)
				c.Reset(call, http2.ErrCodeNo)
			}},
	}
}

// Endless is a stream of messages without end: a method with one answer is wrong from the second message on, and a
// stream of answers ends by the client's own limit of time.
func Endless() Wrong {
	return Wrong{Name: "messages without end", Class: Timeout, Serve: func(c *Conn, call uint32) {
		c.Head(call, false, head...)
		until(100*time.Microsecond, func(c *Conn, call uint32) bool { return c.Data(call, false, one) })(c, call)
	}}
}

// chunks cuts a body into frames.
func chunks(s string) (list []string) {
	for len(s) > 16384 {
		list, s = append(list, s[:16384]), s[16384:]
	}
	return append(list, s)
}

func setting(id http2.SettingID, v uint32) string {
	return string([]byte{byte(id >> 8), byte(id)}) + Numbers(v)
}
