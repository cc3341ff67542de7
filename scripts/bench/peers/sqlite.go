package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"

	"github.com/lace-store/lace/pkg/store/kept"
)

// sqlite is SQLite: one table with the id as its row id. VACUUM works in place,
// through a temporary database and a rollback journal; VACUUM INTO writes a
// second file, which takes the place of the first.
type sqlite struct{ into bool }

const (
	sqliteFile  = "records.sqlite"
	sqliteBatch = 100_000 // records of a transaction of load
)

// openSQLite opens the database with one connection, whose pragmas stay.
func openSQLite(path string, pragmas ...string) (*sql.DB, error) {
	// Temporary databases belong beside the database, where they are counted.
	if err := os.Setenv("SQLITE_TMPDIR", filepath.Dir(path)); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, p := range append(pragmas, "cache_size = -262144", "locking_mode = EXCLUSIVE") {
		if _, err := db.Exec("PRAGMA " + p); err != nil {
			return nil, errors.Join(fmt.Errorf("pragma %s: %w", p, err), db.Close())
		}
	}
	return db, nil
}

func (sqlite) load(dir string, r *records) (err error) {
	db, err := openSQLite(filepath.Join(dir, sqliteFile), "page_size = 16384", "journal_mode = OFF", "synchronous = OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec("CREATE TABLE records (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)"); err != nil {
		return err
	}
	var tx *sql.Tx
	var insert *sql.Stmt
	begin := func() error {
		if tx, err = db.Begin(); err != nil {
			return err
		}
		insert, err = tx.Prepare("INSERT INTO records VALUES (?, ?)")
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	err = r.batches(sqliteBatch, func(id uint64, rec []byte) error {
		_, err := insert.Exec(int64(id), rec)
		return err
	}, func() error {
		if err := errors.Join(insert.Close(), tx.Commit()); err != nil {
			return err
		}
		return begin()
	})
	return errors.Join(err, insert.Close(), tx.Rollback())
}

func (s sqlite) compact(dir string, set *kept.Set) error {
	path := filepath.Join(dir, sqliteFile)
	db, err := openSQLite(path, "journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = OFF")
	if err != nil {
		return err
	}
	second := path + ".into"
	err = sqliteDelete(db, removed(set))
	switch {
	case err != nil:
	case s.into:
		_, err = db.Exec("VACUUM INTO ?", second)
	default:
		_, err = db.Exec("VACUUM")
	}
	if err := errors.Join(err, db.Close()); err != nil || !s.into {
		return err
	}
	return replace(second, path)
}

// sqliteDelete deletes ids in one transaction, ids in a row by one statement.
func sqliteDelete(db *sql.DB, ids []uint64) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	remove, err := tx.Prepare("DELETE FROM records WHERE id BETWEEN ? AND ?")
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	for i := 0; i < len(ids); {
		j := i + 1
		for j < len(ids) && ids[j] == ids[j-1]+1 {
			j++
		}
		if _, err := remove.Exec(int64(ids[i]), int64(ids[j-1])); err != nil {
			return errors.Join(err, remove.Close(), tx.Rollback())
		}
		i = j
	}
	return errors.Join(remove.Close(), tx.Commit())
}

func (sqlite) each(dir string, visit func(id uint64, rec []byte) error) (err error) {
	db, err := openSQLite(filepath.Join(dir, sqliteFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.Query("SELECT id, bytes FROM records ORDER BY id")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		var rec sql.RawBytes
		if err := rows.Scan(&id, &rec); err != nil {
			return err
		}
		if err := visit(uint64(id), rec); err != nil {
			return err
		}
	}
	return rows.Err()
}
