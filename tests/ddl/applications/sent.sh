#!/usr/bin/env bash
# Writes what TiCDC sends of the DDL in each .sql file here into the .sent file beside it, by TiDB's own parser and with TiCDC's flags
# (pingcap/ticdc 1bd702f, logservice/schemastore: transformDDLJobQuery; RENAME, DROP TABLE and DROP VIEW are put together anew for each table).
# Needs Go. The first line is the file's checksum; each other one the number of a statement, schema, table, text.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
at=$(mktemp -d); trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.go <<'END_OF_GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	_ "github.com/pingcap/tidb/pkg/types/parser_driver"
)

const flags = format.RestoreTiDBSpecialComment | format.RestoreNameBackQuotes | format.RestoreKeyWordUppercase |
	format.RestoreStringSingleQuotes | format.SkipPlacementRuleForRestore | format.RestoreWithTTLEnableOff

func check(err error) {
	if err != nil {
		panic(err)
	}
}

type sent struct{ schema, table, query string }

func quoted(schema, table string) string { return "`" + schema + "`.`" + table + "`" }

func renamed(pairs [][2][2]string) (all []sent) {
	for i, pair := range pairs {
		last := pair[1]
		for _, later := range pairs[i+1:] {
			if later[0] == last {
				last = later[1]
			}
		}
		end := ""
		if len(pairs) > 1 {
			end = ";"
		}
		all = append(all, sent{last[0], last[1], "RENAME TABLE " + quoted(pair[0][0], pair[0][1]) + " TO " + quoted(pair[1][0], pair[1][1]) + end})
	}
	return
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	schema := ""
	name := func(table *ast.TableName) [2]string {
		if table.Schema.O == "" {
			return [2]string{schema, table.Name.O}
		}
		return [2]string{table.Schema.O, table.Name.O}
	}
	stmts, _, err := parser.New().ParseSQL(string(text))
	check(err)
	for number, stmt := range stmts {
		var out strings.Builder
		check(stmt.Restore(format.NewRestoreCtx(flags, &out)))
		var of [2]string
		var all []sent
		switch s := stmt.(type) {
		case *ast.UseStmt:
			schema = s.DBName
			continue
		case *ast.CreateDatabaseStmt:
			of[0] = s.Name.O
		case *ast.AlterDatabaseStmt:
			of[0] = s.Name.O
		case *ast.DropDatabaseStmt:
			of[0] = s.Name.O
		case *ast.CreateTableStmt:
			of = name(s.Table)
		case *ast.TruncateTableStmt:
			of = name(s.Table)
		case *ast.CreateViewStmt:
			of = name(s.ViewName)
		case *ast.CreateIndexStmt:
			of = name(s.Table)
		case *ast.DropIndexStmt:
			of = name(s.Table)
		case *ast.AlterTableStmt:
			of = name(s.Table)
			if spec := s.Specs[0]; spec.Tp == ast.AlterTableRenameTable {
				all = renamed([][2][2]string{{of, name(spec.NewTable)}})
			}
		case *ast.RenameTableStmt:
			var pairs [][2][2]string
			for _, each := range s.TableToTables {
				pairs = append(pairs, [2][2]string{name(each.OldTable), name(each.NewTable)})
			}
			all = renamed(pairs)
		case *ast.DropTableStmt:
			kind := "TABLE"
			if s.IsView {
				kind = "VIEW"
			}
			for _, table := range s.Tables {
				of = name(table)
				all = append(all, sent{of[0], of[1], "DROP " + kind + " " + quoted(of[0], of[1])})
			}
		default:
			if _, ddl := stmt.(ast.DDLNode); ddl {
				panic(out.String())
			}
			continue
		}
		if all == nil {
			all = []sent{{of[0], of[1], out.String()}}
		}
		for _, each := range all {
			fmt.Printf("%d\t%s\t%s\t%s\n", number+1, each.schema, each.table, each.query)
		}
	}
}
END_OF_GO
go mod init sent 2>/dev/null
go get github.com/pingcap/tidb/pkg/types/parser_driver@v1.1.0-beta.0.20251121075944-8f2630e53d5d \
    github.com/pingcap/tidb/pkg/parser@v0.0.0-20251121075944-8f2630e53d5d 2>/dev/null
go build -trimpath -o sent .
for file in "$here"/*.sql; do
    { sha256sum <"$file" | cut -d' ' -f1; ./sent "$file"; } >made && mv made "${file%.sql}.sent"
done
