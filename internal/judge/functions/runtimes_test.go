package functions

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// commitFile is what a checkout says of a file: those below /tree are of the commit.
func commitFile(file string) (string, bool) {
	path, ok := strings.CutPrefix(strings.TrimPrefix(file, "file://"), "/tree/")
	return path, ok && !strings.Contains(path, "node_modules")
}

// Each stack belongs to the innermost function of the commit, in the stacks of each profiler.
func TestFolded(t *testing.T) {
	for _, test := range []struct{ stack, want string }{
		{"<module> (/tree/server.py:90);get (/tree/a/b.py:12);dumps (/usr/lib/python3.11/json/__init__.py:231)", "get (a/b.py)"},
		{"thread (MainThread);<listcomp> (/tree/server.py:7)", "<listcomp> (server.py)"},
		{"_run (/usr/lib/python3.11/threading.py:1);select (/usr/lib/python3.11/selectors.py:415)", "file python3.11/selectors.py"},
		{"serve (/usr/lib/python3.11/socketserver.py:3);recv (libc.so.6)", "file libc.so.6"},
		{"node;LazyCompile:~main /tree/server.js:1:1;JS:*work file:///tree/lib/work.js:3:14;Builtin:ArraySort", "work (lib/work.js)"},
		{"JS:~ node:internal/main/run_main_module:1:1", "file main/run_main_module"},
		{"node;JS:^get file:///tree/node_modules/a/index.js:3:14", "node"},
		{"python3;py::work:/tree/server.py;_PyEval_EvalFrameDefault", "work (server.py)"},
		{"java/lang/Thread.run_[j];com/example/Server.handle_[j];java/util/HashMap.get_[i]", "com/example/Server.handle"},
		{"com.example.Server.handle;com.example.Server.work;jdk.internal.util.Preconditions.check", "com.example.Server.work"},
		{"server;main;work(int, char const*);std::sort<int>;memcpy", "memcpy"},
		{"main;<alloc::vec::Vec<T> as core::ops::Drop>::drop;do_syscall_64_[k]", "main"},
		{"[unknown];entry_SYSCALL_64_[k]", "kernel"},
		{";;", "unknown"},
		{strings.Repeat("outer;", 2_000_000) + "inner", "inner"},
	} {
		r := NewRun(commitFile)
		if err := r.Add([]byte(test.stack + " 3\n" + test.stack + " 4\n")); err != nil {
			t.Fatal(err)
		}
		if want := map[string]int64{test.want: 7}; !maps.Equal(r.Nanos, want) || !r.Counted {
			t.Errorf("%.200s: %v, want %v", test.stack, r.Nanos, want)
		}
		r.Spread(time.Second)
		if r.Total() != time.Second || r.Counted || r.Stacks.Whole()[0][0] != 1e9 {
			t.Errorf("%.200s: %v after Spread", test.stack, r.Total())
		}
	}
	r := NewRun(commitFile)
	if err := r.Add([]byte("# remark\n\n")); err != nil || r.Total() != 0 {
		t.Error("no stacks: ", err, r.Total())
	}
	if r.Spread(time.Second); r.Total() != 0 {
		t.Error("time of no samples")
	}
	for _, text := range []string{"error: no such process\n", "a;b\n", "a;b 1.5\n", "a -1\n", "a 99999999999999999999\n", "a 1000000001\n", "7\n", " 7\n"} {
		if err := NewRun(nil).Add([]byte("a;b 1\n" + text)); err == nil || !strings.Contains(err.Error(), "line 2 of the profile is no stack") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

const v8Text = `{"nodes":[
	{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"children":[2,5,6]},
	{"id":2,"callFrame":{"functionName":"emit","url":"node:events","lineNumber":470},"children":[3]},
	{"id":3,"callFrame":{"functionName":"","url":"file:///tree/server.js","lineNumber":4},"children":[4]},
	{"id":4,"callFrame":{"functionName":"writev","url":"","lineNumber":-1}},
	{"id":5,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1}},
	{"id":6,"callFrame":{"functionName":"emit","url":"node:events","lineNumber":470},"children":[7]},
	{"id":7,"callFrame":{"functionName":"","url":"","lineNumber":-1}}
],"samples":[4,3,5,7,2],"timeDeltas":[900,100,10,500,40]}`

// A sample of a .cpuprofile lasts until the next one; idle time counts nowhere.
func TestV8(t *testing.T) {
	r := NewRun(commitFile)
	if err := r.Add([]byte(v8Text)); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"(anonymous) (server.js)": 110e3, "file native": 40e3}; !maps.Equal(r.Nanos, want) || r.Counted {
		t.Errorf("%v, want %v", r.Nanos, want)
	}
	for _, text := range []string{
		"{", "{}", `{"nodes":[{"id":1}],"samples":[1],"timeDeltas":[]}`,
	} {
		if NewRun(nil).Add([]byte(text)) == nil {
			t.Errorf("%s: no error", text)
		}
	}
	circle := NewRun(nil)
	if err := circle.Add([]byte(`{"nodes":[{"id":1,"children":[2]},{"id":2,"children":[1]}],"samples":[1,1,7,1],"timeDeltas":[0,5,9000000000000000000,-3]}`)); err != nil || circle.Total() != 5*time.Microsecond {
		t.Error("callers in a circle: ", err, circle.Total())
	}
}

// pprof's format is not only Go's.
func TestOtherPprof(t *testing.T) {
	f := []*profile.Function{{ID: 1, Name: "core::iter", Filename: "/rustc/core/iter.rs"}, {ID: 2, Name: "server::work", Filename: "/tree/src/work.rs", StartLine: 3}}
	l := []*profile.Location{{ID: 1, Line: []profile.Line{{Function: f[0], Line: 9}, {Function: f[1], Line: 8}}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Function:   f, Location: l, Sample: []*profile.Sample{{Location: l, Value: []int64{5}}},
	}
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	r := NewRun(commitFile)
	if err := r.Add([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"server::work (src/work.rs)": 5}; !maps.Equal(r.Nanos, want) {
		t.Errorf("%v, want %v", r.Nanos, want)
	}
	if got, want := r.places["server::work (src/work.rs)"], (place{"src/work.rs", span{3, 8}}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// A profile whose files are all those of others is of another process.
func TestForeign(t *testing.T) {
	for text, want := range map[string]bool{
		"run (/other/cron.py:3) 5": true,
		"run (/tree/cron.py:3) 5":  false,
		"main;work 5":              false,
	} {
		r := NewRun(commitFile)
		if err := r.Add([]byte(text)); err != nil || r.Foreign() != want {
			t.Errorf("%s: %v, %v", text, r.Foreign(), err)
		}
	}
}

// The functions that a diff touches: by lines that a profile has, by the name in the file, or by the name alone.
func TestTouchedElsewhere(t *testing.T) {
	const diff = `diff --git a/server.py b/server.py
index 1..2 100644
--- a/server.py
+++ b/server.py
@@ -1,14 +1,15 @@
 class Handler:
     def get(self):
         a = 1
-        return a
+        a = 2
+        return a

     def same(self):
         def inner(n):
             return n
         return inner(2)

 TABLE = [
-    1,
+    2,
 ]
 print(TABLE)
diff --git a/lib/work.js b/lib/work.js
--- a/lib/work.js
+++ b/lib/work.js
@@ -5,9 +5,8 @@ function before() {
 const quick = async (n) => {
   if (n) {
-    n++
+    n--
   }
 }
 class A {
   same(n) { return n }
   slow (n, m) {
-    return n
-  }
+    return m }
 }
diff --git a/Server.java b/Server.java
--- a/Server.java
+++ b/Server.java
@@ -1,5 +1,5 @@
 class Server {
   static <T> List<T> sorted(List<T> list) throws IOException {
-    return null;
+    return list;
   }
 }
`
	c := touchedBy(strings.ReplaceAll(diff, "\n\n", "\n \n"))
	want := map[string]bool{}
	for _, name := range []string{"get", "get (server.py)", "quick", "quick (lib/work.js)", "slow", "slow (lib/work.js)", "sorted", "sorted (Server.java)"} {
		want[name] = true
	}
	if !maps.Equal(c.names, want) {
		t.Errorf("%v, want %v", c.names, want)
	}
	r := Result{Functions: []Function{
		{Name: "get (server.py)"}, {Name: "get (other.py)"},
		{Name: "<module> (server.py)", places: [2]place{{"server.py", span{12, 13}}, {"server.py", span{13, 14}}}},
		{Name: "inner (server.py)", places: [2]place{{"server.py", span{8, 9}}, {"server.py", span{9, 10}}}},
		{Name: "com/example/Server.sorted"}, {Name: "server::slow"}, {Name: "kernel"}, {Name: "Server.same"},
	}}
	r.Touch(strings.ReplaceAll(diff, "\n\n", "\n \n"))
	for i, want := range []bool{true, false, true, false, true, true, false, false} {
		if f := r.Functions[i]; f.Touched != want {
			t.Errorf("%s: touched %v", f.Name, f.Touched)
		}
	}
}

// No text makes a profile whose times are negative, or a panic.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(v8Text))
	f.Add([]byte("a (/tree/b.py:1);c 4\n"))
	f.Add([]byte("{\"nodes\":[{}],\"samples\":[0,0],\"timeDeltas\":[1,2]}"))
	f.Add([]byte{0x0a, 0x04, 0x08, 0x01, 0x10, 0x02})
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewRun(commitFile)
		if r.Add(text) == nil && r.Counted && r.Total() < 0 {
			t.Errorf("%v", r.Nanos)
		}
		touchedBy(string(text))
	})
}
