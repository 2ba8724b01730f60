package embedded

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/taktload/takt/pkg/takt"
)

// A program without takt's flags has words for each setting, and its own ones go first.
func TestWords(t *testing.T) {
	of := reflect.ValueOf(Words(takt.Words{}))
	for i := range of.NumField() {
		if text := of.Field(i).String(); text == "" || strings.Contains(text, "--") {
			t.Errorf("%s is %q", of.Type().Field(i).Name, text)
		}
	}
	own := takt.Words{GiveRate: "turn it up", SpreadLoad: "buy more"}
	if got := Words(own); got != own {
		t.Errorf("%+v, want %+v", got, own)
	}
}

// No warning that such a program can have names a flag of takt: settings are tokens.
func TestWarningsHaveNoFlags(t *testing.T) {
	text := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	flag := regexp.MustCompile(`(^|[ (])--[a-z]`)
	found := 0
	for _, path := range []string{"../verdict/judge.go", "../verdict/host.go", "../verdict/verdict.go", "../engine/report.go", "../record/samples.go"} {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range text.FindAllString(string(source), -1) {
			found++
			loops := strings.Contains(s, "--loops") // programs have no loop mode
			if flag.MatchString(strings.Trim(s, `"`)) && !loops {
				t.Errorf("%s: %s", path, s)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d texts were found", found)
	}
}
