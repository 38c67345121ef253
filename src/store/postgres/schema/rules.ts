/**
 * NAME      schema/rules - the row that moves with what a send is decided by
 * DESCRIPTION
 *   It is no count: a database that was put back, to a standby or a copy, would count again what somebody has read
 *   before, and other rows would stand behind it. It is in the transaction that moves it, and gone with it.
 *   Whoever may write one of the tables moves it by that, with no right of its own. It keeps the schema in which it was made.
 */
import { DECIDING } from '../../sql/schema/rules.js'

const TRIGGERS = Object.entries(DECIDING).map(
  ([table, columns]) => `
CREATE TRIGGER moves_rules AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF ${columns} ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION move_rules();`,
)

export const RULES_STEP = `
CREATE TABLE rules (n bigint NOT NULL);
INSERT INTO rules VALUES (0);
CREATE FUNCTION move_rules() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE rules SET n = CAST(floor(random() * ${Number.MAX_SAFE_INTEGER}) AS bigint);
  RETURN NULL;
END $$;${TRIGGERS.join('')}`
