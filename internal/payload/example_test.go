package payload_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/taktload/takt/internal/payload"
)

func Example() {
	env := payload.Env{Seed: 1, Open: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("ann,1200\nbob,7\n")), nil
	}}
	url, err := env.Parse("URL", `/users/{{file "users.csv" 1}}?n={{.Seq}}&id={{uuid}}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	var buf []byte
	for seq := range uint64(3) {
		buf = url.Append(buf[:0], seq)
		fmt.Printf("%s\n", buf)
	}
	// Output:
	// /users/ann?n=0&id=33d8304f-49ac-43d9-afd2-df3e414ede23
	// /users/bob?n=1&id=ae847637-6bcd-443c-aebc-e6d0358d62b8
	// /users/ann?n=2&id=bc12aa27-c230-49db-9567-3bada7bcf432
}

func ExampleRandom_Append() {
	random := payload.NewRandom(1)
	for seq := range uint64(3) {
		fmt.Printf("%s\n", random.Append(nil, 30, seq))
	}
	// Output:
	// BzlAJyeLKEnxujlFajr7eVlM77uoTi
	// ksQuDphBH5WbARjNV7GAKQFQ-_CNNl
	// jNXzG7ZC1V4JS8wunXo2jf14NGXkWe
}
