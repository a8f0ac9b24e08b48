#!/usr/bin/env bash
# Guess: DESCRIBE only reads; in a transaction it may come before or after any other statement, of a view as of a table.
# Seen: after DESCRIBE of a view its table cannot be read for the rest of the transaction (error 1050, "already exists"); after its table
#       was read, DESCRIBE of the view says that its table is not there (1356). information_schema.columns has the columns, and harms nothing.
# With: Go 1.26, github.com/pingcap/tidb v1.1.0-beta.0.20251121075944-8f2630e53d5d (and its pkg/parser of that commit)
set -euo pipefail
at=$(mktemp -d); trap 'rm -rf "$at"' EXIT
cd "$at"
mkdir empty && (cd empty && go mod init empty 2>/dev/null)
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pingcap/errors"
	"github.com/pingcap/log"
	"github.com/pingcap/tidb/pkg/config"
	"github.com/pingcap/tidb/pkg/parser/terror"
	"github.com/pingcap/tidb/pkg/session"
	"github.com/pingcap/tidb/pkg/session/sessionapi"
	"github.com/pingcap/tidb/pkg/store/mockstore"
	"go.uber.org/zap/zapcore"
)

var statements = []string{
	"CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE VIEW v AS SELECT id FROM t",
	"BEGIN", "DESCRIBE v", "SELECT * FROM t", "DESCRIBE v", "ROLLBACK",
	"BEGIN", "SELECT * FROM t", "DESCRIBE v", "SELECT * FROM v", "ROLLBACK",
	"BEGIN", "SELECT column_name FROM information_schema.columns WHERE table_name = 'v'", "SELECT * FROM t", "ROLLBACK",
}

func run(se sessionapi.Session, text string) error {
	ctx := context.Background()
	stmts, err := se.Parse(ctx, text)
	if err != nil {
		return err
	}
	set, err := se.ExecuteStmt(ctx, stmts[0])
	if err != nil || set == nil {
		return err
	}
	defer set.Close()
	return set.Next(ctx, set.NewChunk(nil))
}

func main() {
	log.SetLevel(zapcore.FatalLevel)
	config.UpdateGlobal(func(c *config.Config) { c.Instance.TiDBEnableDDL.Store(true) })
	store, err := mockstore.NewMockStore()
	if err != nil {
		panic(err)
	}
	if _, err = session.BootstrapSession(store); err != nil {
		panic(err)
	}
	se, err := session.CreateSession(store)
	if err != nil {
		panic(err)
	}
	for _, text := range statements {
		said := "ok"
		if err := run(se, text); err != nil {
			said = err.Error()
			if known, is := errors.Cause(err).(*errors.Error); is {
				said = fmt.Sprint("error ", terror.ToSQLError(known).Code)
			}
		}
		fmt.Printf("%s: %s\n", text, said)
	}
	os.Exit(0)
}
END
module() { (cd empty && go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); }
cp -r "$(module github.com/pingcap/tidb@v1.1.0-beta.0.20251121075944-8f2630e53d5d)" tidb && chmod -R u+w tidb
cp -r "$(module github.com/pingcap/tidb/pkg/parser@v0.0.0-20251121075944-8f2630e53d5d)" tidb/pkg/parser && chmod -R u+w tidb
mkdir tidb/cmd/finding && mv main.go tidb/cmd/finding
(cd tidb && go build -mod=mod -trimpath -ldflags='-s -w' -o .. ./cmd/finding) # some minutes, and 3 GB of caches
./finding | tee seen
diff - seen <<'END'
CREATE DATABASE d: ok
USE d: ok
CREATE TABLE t (id INT PRIMARY KEY): ok
CREATE VIEW v AS SELECT id FROM t: ok
BEGIN: ok
DESCRIBE v: ok
SELECT * FROM t: error 1050
DESCRIBE v: error 1356
ROLLBACK: ok
BEGIN: ok
SELECT * FROM t: ok
DESCRIBE v: error 1356
SELECT * FROM v: ok
ROLLBACK: ok
BEGIN: ok
SELECT column_name FROM information_schema.columns WHERE table_name = 'v': ok
SELECT * FROM t: ok
ROLLBACK: ok
END
