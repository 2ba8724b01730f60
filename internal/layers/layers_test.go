// Package layers tests that packages import only lower layers.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// order lists the packages by layer, lowest first. A package may import only packages of
// earlier lines; packages of one line must not import each other. A trailing /* means all
// folders below.
var order = []string{
	"pkg/takt internal/layers internal/trace docker",
	"pkg/schedule pkg/hist internal/sock internal/outfile internal/stop internal/finite internal/racetest internal/trace/stamp internal/trace/order internal/trace/play internal/trace/requests",
	"internal/verdict internal/value internal/trace/fill internal/trace/figures",
	"internal/audit internal/judge/stats internal/judge/stored internal/trace/pattern internal/trace/fieldmap internal/trace/loadfile internal/trace/tracetest",
	"internal/judge/assert internal/judge/query internal/judge/merge internal/trace/formats internal/trace/convert",
	"internal/pace internal/record internal/ledger internal/http1 internal/amqp internal/kwire internal/trace/reader internal/judge/* internal/payload internal/target internal/proc internal/elastic internal/store/fault internal/format/page",
	"internal/clocktest internal/trace/reading internal/store/document internal/store/storetest internal/format/text internal/format/plot",
	"internal/engine internal/format/answer internal/store/* internal/target/*",
	"internal/format internal/driver/http internal/apmserver internal/sim",
	"internal/driver/* internal/store pkg/bench",
	"internal/driver/replay",
	"internal/driver",
	"internal/shell",
	"internal/cli",
	"cmd/takt pkg/bench/examples/*",
}

const module = "github.com/taktload/takt/"

// layer is the number of a package's line, or 0 if no line lists it. The package's own name
// wins over a folder's /*.
func layer(pkg string) (in int) {
	for i, line := range order {
		for _, name := range strings.Fields(line) {
			below, any := strings.CutSuffix(name, "/*")
			if pkg == name {
				return i + 1
			}
			if in == 0 && any && strings.HasPrefix(pkg, below+"/") {
				in = i + 1
			}
		}
	}
	return in
}

func TestImportsPointDown(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "scripts" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files++
			checkFile(t, root, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("only %d files were checked: the walk missed the tree", files)
	}
}

func checkFile(t *testing.T, root, path string) {
	rel, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	own := layer(filepath.ToSlash(rel))
	if own == 0 {
		t.Errorf("%s has no layer; add %s to a line in internal/layers", path, rel)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
		pkg, ours := strings.CutPrefix(imported, module)
		if ours && layer(pkg) >= own {
			t.Errorf("%s (layer %d) imports %s (layer %d); only lower layers may be imported", rel, own, pkg, layer(pkg))
		}
	}
}
