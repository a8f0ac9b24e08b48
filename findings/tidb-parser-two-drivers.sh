#!/usr/bin/env bash
# Guess: a statement that TiDB's parser restores is the same whichever of its two drivers of values is imported; TiCDC imports both.
# Seen: types/parser_driver doubles backslashes and forgets the character set of a hexadecimal literal, the parser's own test_driver
#       does neither. If both are imported, the former counts, in whatever order: its imports include the latter's, so Go starts it later.
# With: Go 1.26, github.com/pingcap/tidb v1.1.0-beta.0.20251121075944-8f2630e53d5d (and its pkg/parser of that commit)
set -euo pipefail
at=$(mktemp -d); trap 'rm -rf "$at"' EXIT
cd "$at"
mkdir own both
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/format"
)

func main() {
	stmt, err := parser.New().ParseOneStmt(`ALTER TABLE t ADD a CHAR(9) DEFAULT 'C:\\new' COMMENT 'c\\', ADD b ENUM('e\\'), ADD c CHAR(9) DEFAULT _latin1 0xE9`, "", "")
	if err != nil {
		panic(err)
	}
	if err = stmt.Restore(format.NewRestoreCtx(format.DefaultRestoreFlags, os.Stdout)); err != nil {
		panic(err)
	}
	fmt.Println()
}
END
cp main.go own && cp main.go both
printf 'package main\n\nimport _ "github.com/pingcap/tidb/pkg/parser/test_driver"\n' | tee own/drivers.go >both/own.go
printf 'package main\n\nimport _ "github.com/pingcap/tidb/pkg/types/parser_driver"\n' >both/another.go
rm main.go
go mod init finding 2>/dev/null
go get github.com/pingcap/tidb/pkg/types/parser_driver@v1.1.0-beta.0.20251121075944-8f2630e53d5d \
    github.com/pingcap/tidb/pkg/parser@v0.0.0-20251121075944-8f2630e53d5d 2>/dev/null
{ go run -trimpath ./own; go run -trimpath ./both; } | tee seen
diff - seen <<'END'
ALTER TABLE `t` ADD COLUMN `a` CHAR(9) DEFAULT _UTF8MB4'C:\new' COMMENT 'c\', ADD COLUMN `b` ENUM('e\'), ADD COLUMN `c` CHAR(9) DEFAULT _LATIN1 x'e9'
ALTER TABLE `t` ADD COLUMN `a` CHAR(9) DEFAULT _UTF8MB4'C:\\new' COMMENT 'c\\', ADD COLUMN `b` ENUM('e\'), ADD COLUMN `c` CHAR(9) DEFAULT x'e9'
END
