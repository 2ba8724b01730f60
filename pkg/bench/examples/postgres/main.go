// Command postgres loads a PostgreSQL server with a prepared statement:
//
//	go build -o postgres . && takt ./postgres --rate 20k/s -z 10s -c 20 postgres://user@127.0.0.1:5432/db
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taktload/takt/pkg/bench"
	"github.com/taktload/takt/pkg/load"
	"github.com/taktload/takt/pkg/takt"
)

func main() {
	sql := flag.String("sql", "select $1::bigint", "the statement; $1, which it must have, is the number of the operation")
	bench.Main(func(args []string) (*takt.Driver, error) { return open(args, *sql) })
}

func open(args []string, sql string) (*takt.Driver, error) {
	if len(args) != 1 {
		return nil, bench.Usage(errors.New("give the URL of the database, such as postgres://user@127.0.0.1:5432/db"))
	}
	o, err := pgx.ParseConfig(args[0])
	if err != nil {
		return nil, bench.Usage(err)
	}
	return load.Workers(func(int) (load.Func, func() error, error) {
		c, err := pgx.ConnectConfig(context.Background(), o)
		if err != nil {
			return nil, nil, err
		}
		if _, err = c.Prepare(context.Background(), sql, sql); err != nil {
			return nil, nil, errors.Join(err, c.Close(context.Background()))
		}
		return func(ctx context.Context, op *takt.Op, r *takt.Result) error {
			rows, err := c.Query(ctx, sql, int64(op.Seq))
			for err == nil && rows.Next() {
				for _, v := range rows.RawValues() {
					r.BytesReceived += int64(len(v))
				}
			}
			var refused *pgconn.PgError
			if err = cmp.Or(err, rows.Err()); errors.As(err, &refused) {
				err = load.Failed(refused.Code, err) // such as 40001, a serialization failure
			}
			if c.IsClosed() { // a fatal error of the server is not one of the network
				return load.Lost(err)
			}
			return err
		}, func() error { return c.Close(context.Background()) }, nil
	}), nil
}
