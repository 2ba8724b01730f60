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
	"internal/store/spool":                      "the spool, in takt's state",
	"internal/store/sqlite":                     "SQLite opens its files itself; kept.Storing refuses a name of a session, unless the session is the owner's and the folder of sessions has the file",
	"internal/shell":                            "the server's state, its logs and the files that its owner names; its folder of sessions through os.Root",
	"internal/checkout":                         "takt's cache of commits; verify --git is the owner's only",
	"internal/cli/calibratecmd":                 "takt's cache; not a command of sessions",
	"internal/cli/selftest_clock.go":            "a folder for the test; not a command of sessions",
	"internal/outfile/follow_unix.go":           "links of paths that takt or its user chose",
	"internal/outfile/sync.go":                  "folders of takt's state",
	"internal/outfile/unfinished.go":            "folders of takt's state and stores",
	"internal/outfile/container_linux.go":       "marks of container engines, and the owner of a folder whose file was refused",
	"internal/elastic":                          "the authority of a cluster, which only the environment names",
	"internal/driver/kafka/cluster/kerberos.go": "/etc/krb5.conf, the default",
	"internal/format/html/chromium":             "a profile for pictures; not reached by commands",

	// The system.
	"internal/cli/core/stdout_linux.go": "/dev/null",
	"internal/proc":                     "/proc and /sys",
	"internal/process":                  "/proc, and the guard of processes that takt started",
	"internal/door":                     "/proc, and the sockets and keys of takt's servers, which sessions do not start",
	"internal/screen":                   "/dev/tty",
	"internal/sandbox":                  "what a confined clone sees; a process of its own",

	// Programs, which only the owner of a server starts.
	"internal/apmserver":             "clones and Dockerfiles that package shell has checked",
	"internal/service":               "the command of verify --run, the owner's only",
	"internal/program":               "a load that is a program; sessions have none",
	"internal/cli/loadcmd/labels.go": "git, in the folder of --git, the owner's only",
	"internal/cli/loadcmd/fault.go":  "the commands of --fault, the owner's only",
	"internal/cli/tracecmd/files.go": "takt trace files is not a command of sessions",

	// Sockets, which only the owner's sessions name.
	"internal/driver/http/route.go": "--unix-socket",
	"internal/engine/addresses.go":  "asks whether a target is --unix-socket",

	// For tests only.
	"internal/clocktest":           "tests",
	"internal/metrics/metricstest": "tests",
}

// Names of people and files are opened by package files, so that no session of takt server opens what is
// outside of its folder.
func TestOneOpener(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	used, seen := map[string]bool{}, 0
	for _, top := range []string{"internal", "pkg", "cmd"} {
		err = filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				if err == nil && d.IsDir() && d.Name() == "testdata" {
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
			for _, found := range openedByPath(t, rel, text) {
				if in := opener(rel); in != "" {
					used[in] = true
				} else {
					t.Errorf("%s; a name of a person goes through package files, else say in openers of this test why no session gets there", found)
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
	for _, name := range slices.Sorted(maps.Keys(openers)) {
		if !used[name] {
			t.Errorf("%s opens nothing by its name any more; take it from openers", name)
		}
	}
}

// opener is the entry of openers for a file; "": none.
func opener(file string) string {
	for _, name := range []string{file, filepath.ToSlash(filepath.Dir(file))} {
		if openers[name] != "" {
			return name
		}
	}
	return ""
}

// openedByPath finds the uses of byPath in a file, also of a function as a value.
func openedByPath(t *testing.T, name string, text []byte) (found []string) {
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
		if byPath[path] != "" {
			if as == "." {
				found = append(found, name+" imports "+path+" without its name")
			}
			packages[as] = path
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Value == `"unix"` {
			found = append(found, set.Position(n.Pos()).String()+": a socket with a path")
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(strings.Fields(byPath[packages[x.Name]]), s.Sel.Name) {
			found = append(found, set.Position(s.Pos()).String()+": "+x.Name+"."+s.Sel.Name)
		}
		return true
	})
	return found
}

// The test sees what it forbids.
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
	if got := openedByPath(t, "x.go", []byte(text)); len(got) != 5 {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat("../files"); err != nil {
		t.Error(err)
	}
}
