package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// byPath are functions that open, change or ask about a file by its name. Package files has those
// that a name of a person, or of a file, may reach: a session of takt server names files, too.
var byPath = map[string]string{
	"os":                                    "Open OpenFile OpenRoot OpenInRoot Create CreateTemp ReadFile ReadDir WriteFile DirFS CopyFS Stat Lstat Readlink Rename Remove RemoveAll Mkdir MkdirAll MkdirTemp Symlink Link Truncate Chmod Chown Lchown Chtimes Chdir StartProcess",
	"path/filepath":                         "EvalSymlinks Glob Walk WalkDir",
	"io/ioutil":                             "ReadFile ReadDir WriteFile TempFile TempDir",
	"os/exec":                               "Command CommandContext LookPath",
	"crypto/tls":                            "LoadX509KeyPair",
	"net":                                   "DialUnix ListenUnix ListenUnixgram FileConn",
	"net/http":                              "Dir ServeFile ServeFileFS FileServer",
	"database/sql":                          "Open",
	"syscall":                               "Open Openat Exec ForkExec Stat Lstat Mkdir Rename Unlink",
	"golang.org/x/sys/unix":                 "Open Openat Openat2 OpenTree Exec Stat Lstat Mkdir Rename Unlink",
	"github.com/jcmturner/gokrb5/v8/config": "Load",
	"github.com/jcmturner/gokrb5/v8/keytab": "Load",
	"github.com/jcmturner/gokrb5/v8/credentials": "LoadCCache",
}

// openers may use them: a package, or one file of it, and why no name of a session gets there.
var openers = map[string]string{
	"internal/files": "the opener",

	// takt chooses the names.
	"internal/store/spool":                "the spool, in takt's state",
	"internal/store/sqlite":               "SQLite opens its files itself; kept.Storing refuses a name of a session, unless the session is the owner's and the folder of sessions has the file",
	"internal/shell":                      "the server's state, its logs and the files that its owner names; its folder of sessions through os.Root",
	"internal/checkout":                   "takt's cache of commits; verify --git is the owner's only",
	"internal/cli/calibratecmd":           "takt's cache; not a command of sessions",
	"internal/cli/judge.go":               "a folder for the generator; not a command of sessions",
	"internal/trial":                      "the generator, and its file in takt's folder; not reached by sessions",
	"internal/cli/selftest_clock.go":      "a folder for the test; not a command of sessions",
	"internal/cli/mcp.go":                 "the folder of an agent, which the user of takt mcp names; not a command of sessions",
	"internal/cli/demo.go":                "takt itself; not a command of sessions",
	"internal/outfile/follow_unix.go":     "links of paths that takt or its user chose",
	"internal/outfile/pinned_linux.go":    "files below an open folder; folderOf leaves those of a session to package files",
	"internal/outfile/sync.go":            "folders of takt's state",
	"internal/outfile/unfinished.go":      "folders of takt's state and stores",
	"internal/outfile/container_linux.go": "marks of container engines, and the owner of a folder whose file was refused",
	"internal/test/chromium":              "a profile for pictures; not reached by commands",

	// The system.
	"internal/proc":    "/proc and /sys",
	"internal/process": "/proc, and the guard of processes that takt started",
	"internal/door":    "/proc, and the sockets and keys of takt's servers, which sessions do not start",
	"internal/screen":  "/dev/tty",
	"internal/sandbox": "what a confined clone sees; a process of its own",

	// Programs, which only the owner of a server starts.
	"internal/apmserver":             "clones and Dockerfiles that package shell has checked",
	"internal/service":               "the command of verify --run, the owner's only",
	"internal/program":               "a load that is a program; sessions have none",
	"internal/cli/loadcmd/labels.go": "git, in the folder of --git, the owner's only",
	"internal/cli/loadcmd/fault.go":  "the commands of --fault, the owner's only",
	"internal/cli/trace_files.go":    "takt trace files is not a command of sessions",

	// Sockets, which only the owner's sessions name.
	"internal/driver/http/route.go": "--unix-socket",
	"internal/engine/addresses.go":  "asks whether a target is --unix-socket",

	// For tests only.
	"internal/test/clocktest":   "tests",
	"internal/test/metricstest": "tests",
	"internal/test/pages":       "tests",
}

// byAddress are functions that connect to a machine. Package reach has those that an address of a target may
// reach: a session of takt server may load only some machines.
var byAddress = map[string]string{
	"net":                   "Dial DialTimeout Dialer DialTCP DialUDP DialIP DialUnix",
	"crypto/tls":            "Dial DialWithDialer Dialer",
	"net/http":              "Get Head Post PostForm DefaultClient DefaultTransport",
	"syscall":               "Connect",
	"golang.org/x/sys/unix": "Connect",
}

// dialers may use them: a package, or one file of it, and why no session leads there.
var dialers = map[string]string{
	"internal/reach":           "the guard",
	"internal/engine/world.go": "addresses that addresses.go has checked",
	"internal/sock":            "addresses that the engine has checked, and loopback",
	"internal/elastic":         "one cluster, without its redirects and nodes: the store of the server, or one that elasticsearch use has checked",
	"internal/fleet/member.go": "the gatherer; takt shard is not a command of sessions",
	"internal/door":            "asks whether another server has the socket",
	"pkg/drivertest":           "tests of drivers",
}

// Addresses are dialled by package reach, so that no session of takt server leads to a machine that
// --allow-target does not list. A client or a transport of net/http without a dialer would use one of its own.
func TestOneDialer(t *testing.T) {
	onlyIn(t, byAddress, dialers, "an address goes through package reach, else say in dialers of this test why no session leads there")
}

// Names of people and files are opened by package files, so that no session of takt server opens what is
// outside of its folder.
func TestOneOpener(t *testing.T) {
	onlyIn(t, byPath, openers, "a name of a person goes through package files, else say in openers of this test why no session gets there")
}

// onlyIn reports the uses of functions outside of the packages and files that may use them, and those that
// use none any more.
func onlyIn(t *testing.T, functions, users map[string]string, advice string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	used, seen := map[string]bool{}, 0
	for _, top := range []string{"internal", "pkg", "cmd"} {
		err = filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "examples") { // these are other programs
					return filepath.SkipDir
				}
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			seen++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			for _, found := range uses(t, functions, rel, text) {
				if in := userOf(users, rel); in != "" {
					used[in] = true
				} else {
					t.Errorf("%s; %s", found, advice)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 500 {
		t.Errorf("only %d files were checked: the walk missed the tree", seen)
	}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		if !used[name] {
			t.Errorf("%s uses none of these functions any more; take it from the list", name)
		}
	}
}

// userOf is the entry of users for a file; "": none.
func userOf(users map[string]string, file string) string {
	for _, name := range []string{file, filepath.ToSlash(filepath.Dir(file))} {
		if users[name] != "" {
			return name
		}
	}
	return ""
}

// uses finds the uses of functions in a file, also of a function as a value.
func uses(t *testing.T, functions map[string]string, name string, text []byte) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{} // by their name in the file
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
		as := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if functions[path] != "" {
			if as == "." {
				found = append(found, name+" imports "+path+" without its name")
			}
			packages[as] = path
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Value == `"unix"` && functions["os"] != "" {
			found = append(found, set.Position(n.Pos()).String()+": a socket with a path")
		}
		if made, ok := n.(*ast.CompositeLit); ok && functions["net/http"] == byAddress["net/http"] && undialled(made, packages) {
			found = append(found, set.Position(n.Pos()).String()+": it dials by itself")
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(strings.Fields(functions[packages[x.Name]]), s.Sel.Name) {
			found = append(found, set.Position(s.Pos()).String()+": "+x.Name+"."+s.Sel.Name)
		}
		return true
	})
	return found
}

// undialled reports whether a value is a client or a transport of net/http without a dialer.
func undialled(made *ast.CompositeLit, packages map[string]string) bool {
	of, ok := made.Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	wanted := map[string]string{"Client": "Transport", "Transport": "DialContext"}[of.Sel.Name]
	if x, ok := of.X.(*ast.Ident); !ok || packages[x.Name] != "net/http" || wanted == "" {
		return false
	}
	return !slices.ContainsFunc(made.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := pair.Key.(*ast.Ident)
		return ok && key.Name == wanted
	})
}

// The tests see what they forbid.
func TestOneOpenerSees(t *testing.T) {
	text := `package x
import (
	"os"
	"net/http"
	exe "os/exec"
	"crypto/tls"
)
var read = os.ReadFile
func f() { os.Getenv("x"); http.Get(""); exe.Command("x"); g(os.Open); tls.LoadX509KeyPair("", ""); d.Dial("unix", "") }
func h(os box) { os.Open("x") }
`
	if got := uses(t, byPath, "x.go", []byte(text)); len(got) != 5 {
		t.Errorf("%q", got)
	}
	text = `package x
import (
	"net"
	"net/http"
	"golang.org/x/sys/unix"
)
var d net.Dialer
var bad, fine = http.Client{}, http.Client{Transport: t}
var none, good = &http.Transport{}, &http.Transport{DialContext: d}
func f() { http.Get(""); unix.Connect(1, nil); net.Listen("unix", ""); c := http.DefaultClient }
`
	if got := uses(t, byAddress, "x.go", []byte(text)); len(got) != 6 {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat("../files"); err != nil {
		t.Error(err)
	}
}
