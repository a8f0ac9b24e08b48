#!/usr/bin/env bash
# Guess: what TiDB's parser restores differs from what was written in quotes, case and spaces only.
# Seen: `ESCAPE ''` is dropped, N'x' becomes _UTF8'x' (not UTF8MB4), an ENUM's labels lose the spaces at their ends, 0x41 as a label
#       becomes 'A', utf8mb3 becomes UTF8, `||` becomes OR, and `a - -1` becomes a--1.
# With: Go 1.26, github.com/pingcap/tidb/pkg/parser v0.0.0-20251121075944-8f2630e53d5d
set -euo pipefail
at=$(mktemp -d); trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.go <<'END'
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/format"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println() {
		stmt, err := parser.New().ParseOneStmt(lines.Text(), "", "")
		if err != nil {
			panic(err)
		}
		if err = stmt.Restore(format.NewRestoreCtx(format.DefaultRestoreFlags, os.Stdout)); err != nil {
			panic(err)
		}
	}
}
END
go mod init finding 2>/dev/null
go get github.com/pingcap/tidb/pkg/parser@v0.0.0-20251121075944-8f2630e53d5d 2>/dev/null
go run -trimpath . <<'END' | tee seen
SELECT a - -1, N'x', a || b FROM t WHERE a LIKE 'x' ESCAPE ''
CREATE TABLE t (e ENUM('a ', 0x41)) CHARSET utf8mb3
END
diff - seen <<'END'
SELECT `a`--1,_UTF8'x',`a` OR `b` FROM `t` WHERE `a` LIKE _UTF8MB4'x'
CREATE TABLE `t` (`e` ENUM('a','A')) DEFAULT CHARACTER SET = UTF8
END
