/**
 * NAME      search - the index of words
 * DESCRIPTION
 *   A row for each mail, with its tokens (sql/search/tokens.ts). New rows wait in a list that each search reads, too, so
 *   that many go into the index together: half a megabyte of it costs a search less than a millisecond.
 *   `search_state.place` is the last place that is in it.
 */
import { tables } from './words.js'

export const SEARCH = tables(`
CREATE TABLE search_words (ord INTEGER PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX search_words_words ON search_words USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE TABLE search_state (place INTEGER NOT NULL);
INSERT INTO search_state VALUES (0);
`)
