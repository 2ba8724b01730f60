// Command pictures makes the pictures of HTML pages, for the documents and to look at while the page
// changes.
//
//	go run ./scripts/pictures [-width 1280] [-height N] [-dark] CHROMIUM PAGE.html PICTURE.png
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/taktload/takt/internal/format/html/chromium"
)

func main() {
	var v chromium.View
	flag.IntVar(&v.Width, "width", 1280, "width of the window in pixels")
	flag.IntVar(&v.Height, "height", 0, "height of the picture in pixels; 0: the whole page")
	flag.BoolVar(&v.Dark, "dark", false, "as with prefers-color-scheme: dark")
	flag.Parse()
	if flag.NArg() != 3 {
		flag.Usage()
		os.Exit(2)
	}
	if err := picture(flag.Arg(0), flag.Arg(1), flag.Arg(2), v); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func picture(program, page, to string, v chromium.View) error {
	path, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	b, err := chromium.Start(program)
	if err != nil {
		return err
	}
	defer b.Close()
	height := v.Height
	if v.Height == 0 {
		v.Height = 900
	}
	p, err := b.Open("file://"+path, v)
	if err != nil {
		return err
	}
	for _, fault := range p.Faults() {
		fmt.Fprintln(os.Stderr, "pictures:", fault)
	}
	png, err := p.Picture(height)
	if err != nil {
		return err
	}
	return os.WriteFile(to, png, 0o644)
}
