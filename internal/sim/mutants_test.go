package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// 1000 seeds find each of these plausible faults. Each fault is put into a copy of one file, and
// the tests of this package are built with the copy. That takes minutes.
func TestMutants(t *testing.T) {
	if os.Getenv("TAKT_MUTANTS") == "" {
		t.Skip("builds the engine with one fault after the other, which takes minutes: TAKT_MUTANTS=1, and make soak")
	}
	for _, m := range []struct{ name, file, from, to string }{
		{"a clamp put back", "engine/loop_conn_linux.go",
			"case at < p.wrote-l.wall.Error():", "case false:"},
		{"the idle look removed", "engine/loop_host_linux.go",
			"c.fd >= 0 && (!l.caution.wants(now-p.idle, l.claim.Seq) || l.look(c)) {", "c.fd >= 0 {"},
		{"an off-by-one in the bound", "engine/loop_run_linux.go",
			"len(l.places) < l.max }", "len(l.places) <= l.max }"},
		{"a lost wake-up", "engine/loop_linux.go",
			"\tm.wake()\n\trest := unsent(at, at)\n", "\trest := unsent(at, at)\n"},
		{"a leaked descriptor", "engine/loop_conn_linux.go",
			"\t\t\tl.sys.Close(fd)\n", ""},
		{"a double send", "engine/loop_conn_linux.go",
			"\tc.unsent = request\n", "\tc.unsent = request\n\tif p.op.Seq%64 == 63 {\n\t\tc.unsent = append(bytes.Clone(request), request...)\n\t}\n"},
		{"a lost wake-up of the pacer", "engine/pool.go",
			"\tp.leave()\n\tp.unpark()\n", "\tp.leave()\n"},
		{"a connection left open after a failure", "engine/blocking.go",
			"\t\tc.drop()\n\t\tif c.loop.Overdue", "\t\tif c.loop.Overdue"},
		{"a late word about another operation", "engine/async.go",
			"!s.busy || s.generation != uint32(token>>32)", "!s.busy"},
		{"a percentile of the wrong window", "record/set.go",
			"if e.Due < s.cfg.Warmup {", "if e.Done < s.cfg.Warmup {"},
		{"a journal that counts a second twice", "record/second.go",
			"Clamped: s.clamped()}\n", "Clamped: s.clamped()}\n\tc.Counts.OK *= 2\n"},
		{"a queue behind late operations blamed on the target", "record/attribution.go",
			"\t\t\tb.debt += b.gaps[i+1].from - b.gaps[i].from\n", ""},
		{"a backlog of the generator that leaves the run valid", "verdict/judge.go",
			"n > 0 && many(all, due)", "false"},
		{"a repetition that counts twice", "engine/loop_mux_linux.go",
			"l.m.again.Add(1)", "l.m.again.Add(2)"},
		{"an answer that leaves its stream busy", "engine/loop_mux_linux.go",
			"\tif e.Kind == takt.MuxEnd {\n\t\tc.busy--\n", "\tif e.Kind == takt.MuxEnd {\n"},
		{"parked places that stay so", "engine/loop_mux_linux.go",
			"\tl.releaseParked(s, limit-s.limit)\n", ""},
		{"a connection that is left open after GOAWAY", "engine/loop_mux_linux.go",
			"\tif c.retired && c.busy == 0 {\n\t\tl.scrap(c)\n", "\tif c.retired && c.busy == 0 {\n"},
		{"GOAWAY off by one", "http2/parse.go",
			"s.id > last && s.state == waiting", "s.id >= last && s.state == waiting"},
		{"a limit of streams that is ignored", "http2/mux.go",
			"return min(m.streams, m.peer.streams)", "return m.streams"},
		{"new windows only for new streams", "http2/parse.go",
			"change := int64(v) - m.peer.window", "change := 0 * int64(v)"},
		{"a stream that is given up in silence", "http2/mux.go",
			"\t\tm.reset(s.id, wire.Cancel)\n\t\tm.forget(s)\n", "\t\tm.forget(s)\n"},
		{"headers of a forgotten stream that are not decoded", "http2/answer.go",
			"if err := m.dec.Decode(b, m.emit); err ==", "if m.at(id) == nil {\n\t\treturn nil\n\t}\n\tif err := m.dec.Decode(b, m.emit); err =="},
		{"parts that were read late and count as the server's", "driver/http/stream.go",
			"if !near && !exact || m.parts > 0 && !m.known {", "if !near && !exact && m.parts < 0 || m.parts > 0 && !m.known {"},
		{"a gap up to the end of the answer", "driver/http/stream.go",
			"m.behind = m.ended == had", "m.behind = m.ended < had"},
		{"a stream that broke off without its last gap", "driver/http/stream.go",
			"case m.over && m.broke:", "case m.over && m.broke && m.MaxGap == 1:"},
		{"an answer without its last event that ended well", "driver/http/stream.go",
			"m.broke = m.result.Class != \"\"", "m.broke = false"},
		{"sockets that are not looked at", "engine/loop_parts_linux.go",
			"l.parts, l.sparing = true, false", "l.parts, l.sparing = false, false"},
		{"a retry that counts as the last try", "journey/journey.go",
			"\t\tn.failed++\n", "\t\tn.failed += 2\n"},
		{"a retry without its pause doubled", "journey/journey.go",
			"<<min(p.failed, 20)", "<<min(p.failed, 0)"},
		{"a poll due after the due instant", "journey/journey.go",
			"n.Wait, n.After = s.Poll.Every.Draw(u.Rand), true", "n.Wait, n.After = s.Poll.Every.Draw(u.Rand), false"},
		{"a last poll that may be without its answer", "journey/journey.go",
			"s.Poll != nil && p.polls+1 >= s.Poll.Most", "s.Poll != nil && p.polls >= s.Poll.Most"},
		{"a think time that is left out", "journey/journey.go",
			"times: times}, s.Think.Draw(u.Rand)", "times: times}, 0"},
		{"a condition turned round", "journey/journey.go",
			"c.Holds(u) == c.Not", "c.Holds(u) != c.Not"},
		{"an optional step that ends the round", "journey/journey.go",
			"case r.Class != \"\" && !s.Optional:", "case r.Class != \"\":"},
		{"a step behind a failure that is sent", "driver/http/scenario.go",
			"\tif t.visit.failed {\n\t\tf, early", "\tif t.visit.failed && false {\n\t\tf, early"},
		{"steps that are due when the answer came", "driver/http/scenario.go",
			"if s.users > 0 || n.After {", "if true {"},
		{"a round that counts twice", "driver/http/scenario.go",
			"\t\ts.rounds.Begun++\n", "\t\ts.rounds.Begun += 2\n"},
		{"a value that outlives its step's failure", "driver/http/scenario.go",
			"\tt.visit.session.Drop(t.at().Captures) // also if no answer comes\n", ""},
		{"a skipped step that is in no count", "driver/http/scenario.go",
			"\t\t\tf.Skipped++\n", ""},
		{"rounds that the drain does not end", "engine/engine.go",
			"ok && f.Last() >= 0 {", "ok && f.Last() > time.Hour {"},
		{"a user that begins two rounds", "users/courses.go",
			"c.active == c.users ||", "c.active > c.users ||"},
		{"a user that does not rest after silence", "driver/http/scenario.go",
			"pause = max(pause, users.FailPause)", "pause += 0"},
		{"a user that begins before its pace", "driver/http/scenario.go",
			"pause = max(pause, next.Sub(s.begun)-at)", "pause += 0"},
		{"a redirect that counts as the success of a step with @once", "driver/http/scenario.go",
			"s.Lasts && follower == nil && t.at().Once", "s.Lasts && t.at().Once"},
		{"a group that ends with a step that is passed over", "journey/journey.go",
			"if s.Before > 0 {\n\t\t\tn.Passed", "if false {\n\t\t\tn.Passed"},
		{"a user's connection that stays after GOAWAY", "engine/blocking_mux.go",
			"\t\tif c.mux.Limit() < 0 {\n\t\t\tc.drop()\n\t\t}\n\t\tif taken", "\t\tif taken"},
		{"what is due sooner comes later", "users/courses.go",
			"c.pending.Top().at >= op.Due {", "true {"},
		{"a user that waits while a seat is vacated", "users/users.go",
			"\tif c.queue.Len() > 0 && !c.closed {", "\tif false {"},
		{"a call without a status that is good", "driver/grpc/mux.go",
			"case c.status.code == noCode:\n\t\treturn classNoStatus", "case false:\n\t\treturn classNoStatus"},
		{"half a message that ends a call well", "driver/grpc/mux.go",
			"case c.frames.inside():", "case false:"},
		{"half a message that the next call inherits", "driver/grpc/mux.go",
			"\tc.frames.reset()\n", ""},
		{"a prefix of a message that is cut", "driver/grpc/frame.go",
			"n = copy(f.head[f.have:], b)", "n = copy(f.head[:], b)"},
		{"messages of the warm-up", "driver/grpc/mux.go",
			"c.result.Status = 0; c.counts {", "c.result.Status = 0; true {"},
		{"a part for each piece of a message", "driver/grpc/mux.go",
			"return m.StreamMux.Body(tag, b, ends)", "return m.StreamMux.Body(tag, b, true)"},
	} {
		t.Run(m.name, func(t *testing.T) { mutant(t, m.file, m.from, m.to) })
	}
}

func mutant(t *testing.T, file, from, to string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), from) != 1 {
		t.Fatalf("%s does not contain %q exactly once: the code has changed, so correct the mutant", file, from)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^TestSeeds$", ".")
	cmd.Env = append(os.Environ(), "TAKT_SEEDS=1000", "TAKT_MUTANTS=")
	out, err := cmd.CombinedOutput()
	text := string(out)
	at := strings.Index(text, "seed ")
	if err == nil || at < 0 {
		t.Fatalf("1000 seeds did not find it: %v\n%s", err, text)
	}
	t.Log(text[at:min(len(text), at+600)])
}
