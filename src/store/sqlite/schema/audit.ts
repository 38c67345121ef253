/**
 * NAME      audit - the table of who changed what
 */
import { AUDIT } from '../../sql/identity.js'

export const AUDIT_STEP = `${AUDIT}-- each ends with the place
CREATE INDEX audit_account ON audit (account_id);
CREATE INDEX audit_actor ON audit (account_id, actor_id);
CREATE INDEX audit_object ON audit (account_id, object_id);
`
