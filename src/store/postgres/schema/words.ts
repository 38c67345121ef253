/**
 * NAME      words - the column types of this database, in short
 * DESCRIPTION
 *   TEXT compares octet by octet, whatever the locale of the database: lists and marks rely on it. Times, places and
 *   counts are INTEGER, truth is TRUTH (0 or 1), so that shared statements read them as they do elsewhere.
 *   What tables of sql/schema/ say of how SQLite keeps them is left out, and so are their foreign keys.
 */
const WORDS: Readonly<Record<string, string>> = {
  TEXT: 'text COLLATE "C"',
  INTEGER: 'bigint',
  TRUTH: 'smallint',
  BLOB: 'bytea',
}

const NOT_HERE = / WITHOUT ROWID| REFERENCES \w+ \(\w+\)/g

export const tables = (text: string): string =>
  text.replace(NOT_HERE, '').replace(/\b(?:TEXT|INTEGER|TRUTH|BLOB)\b/g, (word) => WORDS[word] ?? word)
