// Command redis loads a Redis server with GET or SET of random keys:
//
//	go build -o redis . && takt ./redis --rate 20k/s -z 10s -c 20 redis://127.0.0.1:6379/0
package main

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func main() {
	write := flag.Bool("write", false, "SET instead of GET")
	keys := flag.Int("keys", 10_000, "number of keys")
	size := flag.Int("size", 100, "bytes of a value")
	bench.Main(func(args []string) (*takt.Driver, error) { return open(args, *write, *keys, *size) })
}

func open(args []string, write bool, keys, size int) (*takt.Driver, error) {
	if len(args) != 1 || keys < 1 {
		return nil, bench.Usage(errors.New("give the URL of the server, such as redis://127.0.0.1:6379/0, and at least 1 of --keys"))
	}
	o, err := redis.ParseURL(args[0])
	if err != nil {
		return nil, bench.Usage(err)
	}
	o.PoolSize, o.MaxRetries, o.ContextTimeoutEnabled = 1, -1, true // a retry would be a second operation
	value := make([]byte, size)
	return load.Workers(func(int) (load.Func, func() error, error) {
		c := redis.NewClient(o)
		if err := c.Ping(context.Background()).Err(); err != nil {
			return nil, nil, errors.Join(err, c.Close())
		}
		return func(ctx context.Context, _ *takt.Op, r *takt.Result) (err error) {
			key, text, refused := "takt:"+strconv.Itoa(rand.IntN(keys)), "", redis.Error(nil)
			if write {
				r.BytesSent, err = int64(len(key)+size), c.Set(ctx, key, value, 0).Err()
			} else {
				text, err = c.Get(ctx, key).Result()
				r.BytesSent, r.BytesReceived = int64(len(key)), int64(len(text))
			}
			if errors.Is(err, redis.Nil) { // a key without a value is an answer
				return nil
			} else if errors.As(err, &refused) {
				return load.Failed("refused_by_server", err)
			}
			return err
		}, c.Close, nil
	}), nil
}
